#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The library builds and works with hiredis 1.x, as newer distributions have it,
# and works in a program that has hiredis 1.x while the library has the system's.
# scripts/test unpacks it, without installing it, from a newer Debian.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

root=$HF_SOURCE/build-hiredis
header=$(find -H "$root" -path '*/hiredis/hiredis.h' 2>/dev/null)
[ -n "$header" ] || skip_all "no hiredis 1.x: scripts/test unpacks it"
major=$(awk '$2 == "HIREDIS_MAJOR" { print $3 }' "$header")
is "$major" 1 "hiredis $major.x is what is unpacked"

archive=$(find -H "$root" -name libhiredis.a)
mkdir "$W/pkgconfig"
cat >"$W/pkgconfig/hiredis.pc" <<END
Name: hiredis
Description: hiredis as it was unpacked
Version: $major
Libs: -L$(dirname "$archive") -lhiredis
Cflags: -I$(dirname "$header") -I$(dirname "$(dirname "$header")")
END
export PKG_CONFIG_PATH=$W/pkgconfig

quietly() {
    "$@" >>"$W/log" 2>&1 || {
        tail -n 20 "$W/log"
        false
    }
}

tools=(replay-reply replay-redis)
tests=(unit/test_redis_reply conformance/redis_scripts conformance/redis_listen
    conformance/redis_queue conformance/redis_watch)
ok "it configures" quietly cmake -S "$HF_SOURCE" -B "$W/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG= -DHF_WERROR=ON
like "$(sed -n 's/^HIREDIS_ARCHIVE:[A-Z]*=//p' "$W/build/CMakeCache.txt")" \
    "^$root/" "… with the unpacked one"
ok "it builds, without warnings" quietly ninja -C "$W/build" tests/lib/clock_shim.so \
    "${tools[@]}" "${tests[@]##*/}"
for tool in "${tools[@]}"; do
    ok "$tool: its corpus" quietly "$W/build/fuzz/$tool" \
        "$HF_SOURCE/fuzz/corpus/${tool#replay-}"
done
for test in "${tests[@]}"; do
    ok "$test" quietly env TMPDIR=/tmp "$HF_SOURCE/tests/run" -b "$W/build" "$test"
done

# A program that asks the same server by its own hiredis, before and after.
cat >"$W/plugin.c" <<'END_OF_C'
#include <holdfast/holdfast.h>
#include <stdio.h>
int use_lock(const char *url);
int use_lock(const char *url)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_info *info;
    struct hf_error error = {HF_OK, -1, ""};
    hf_request_init(&request, "two");
    if (hf_client_open(url, NULL, &client, &error) != HF_OK ||
        hf_lock_acquire(client, &request, &lock, &error) != HF_OK ||
        hf_client_inspect(client, "two", 3, &info, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    hf_info_free(info);
    puts(hf_lock_release(lock) == HF_OK ? "held" : "not released");
    hf_client_close(client);
    return 0;
}
END_OF_C
cat >"$W/program.c" <<'END_OF_C'
#include <dlfcn.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
int use_lock(const char *url);
static void ask(const char *path)
{
    redisContext *own = redisConnectUnix(path);
    redisReply *reply = redisCommand(own, "PING");
    puts(reply->str);
    fflush(stdout);
    freeReplyObject(reply);
    redisFree(own);
}
int main(int argc, char **argv)
{
    ask(argv[1]);
#ifdef PLUGIN
    void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    int (*use)(const char *) =
        (int (*)(const char *))dlsym(plugin, "use_lock");
#else
    int (*use)(const char *) = use_lock;
#endif
    int result = use(argv[2]);
    ask(argv[1]);
    return argc == 3 ? result : 2;
}
END_OF_C
links() { # FILE ARGUMENT...: all but the system's hiredis.
    quietly gcc -std=c11 "-I$HF_SOURCE/include" \
        "-I$(dirname "$(dirname "$header")")" -o "$W/$1" "${@:2}"
}
libs=$(sed -n 's/^Libs.private: //p' "$HF_BUILD/generated/holdfast.pc")
shared=("-L$HF_BUILD" "-Wl,-rpath,$HF_BUILD" -lholdfast)
newer=("-L$(dirname "$archive")" "-Wl,-rpath,$(dirname "$archive")" -lhiredis)
both=("$W/program.c" "$W/plugin.c")
server_start one
works() { # PROGRAM
    capture timeout 30 "$W/$1" "${SERVER_SOCK[one]}" \
        "${SERVER_URL[one]}?quarantine=off&node_timeout=5s"
    is "$code:${out//$'\n'/ }" '0:PONG held PONG' "$1: both work"
}
ok 'a program that contains hiredis 1.x' links contains "${both[@]}" \
    "${shared[@]}" "$archive"
works contains
ok 'a program that links it' links before "${both[@]}" "${newer[@]}" "${shared[@]}"
works before
# shellcheck disable=SC2086 # flags are a list
ok 'a program that contains both' links archives "${both[@]}" "$archive" \
    "$HF_BUILD/libholdfast.a" $libs "$archive"
works archives
ok 'a plugin' links plugin.so -shared -fPIC "$W/plugin.c" "${shared[@]}"
ok 'a program that loads it' links loads -rdynamic "-DPLUGIN=\"$W/plugin.so\"" \
    "$W/program.c" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive
works loads
finish
