#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# Only public functions are global in the static library: a program that uses
# every other name of the library for functions of its own links with it, and
# the library calls none of them. That includes all names of hiredis, which the
# library has inside, and is as true of the shared library.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

globals() { # ARCHIVE
    nm -g --defined-only "$1" | awk 'NF == 3 { print $3 }' | sort -u
}

sed 's/@.*//' "$HF_SOURCE/abi/libholdfast.symbols" >"$W/public"
globals "$HF_BUILD/libholdfast_parts.a" | comm -13 "$W/public" - >"$W/private"
is "$(globals "$HF_BUILD/libholdfast.a" | comm -3 "$W/public" -)" '' \
    "the archive's global names are those of the shared library"
names=$(wc -l <"$W/private")
ok "$names names are private" test "$names" -gt 300

hiredis=$(sed -n 's/^HIREDIS_ARCHIVE:FILEPATH=//p' "$HF_BUILD/CMakeCache.txt")
[ ! -e "$hiredis" ] || globals "$hiredis" >"$W/hiredis"
like "$(cat "$W/hiredis")" redisReaderFeed "${hiredis:-hiredis} has names"
{
    echo '#include <stdlib.h>'
    sort -u "$W/private" "$W/hiredis" |
        sed 's/.*/void &(void);\nvoid &(void) { abort(); }/'
} >"$W/clash.c"
cat >"$W/use.c" <<'END_OF_C'
#include <holdfast/holdfast.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock = NULL;
    struct hf_info *info;
    struct hf_error error = {HF_OK, -1, ""};
    (void)argc;
    hf_request_init(&request, "static");
    if (hf_client_open(argv[1], NULL, &client, &error) != HF_OK ||
        hf_lock_acquire(client, &request, &lock, &error) != HF_OK ||
        hf_lock_extend(lock, 5000, &error) != HF_OK ||
        hf_client_inspect(client, "static", 6, &info, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    printf("fence %d\n", hf_lock_fence(lock) ==
                             hf_holder_fence(hf_info_holder(info)));
    hf_info_free(info);
    hf_lock_release(lock);
    hf_client_close(client);
    return 0;
}
END_OF_C
libs=$(sed -n 's/^Libs.private: //p' "$HF_BUILD/generated/holdfast.pc")
unlike "$libs" hiredis 'the static library needs no hiredis'
links() { # PROGRAM ARGUMENT...
    gcc -std=c11 -Wall -Wextra -Werror -Wno-builtin-declaration-mismatch \
        "-I$HF_SOURCE/include" -o "$W/$1" "$W/use.c" "$W/clash.c" "${@:2}"
}
# shellcheck disable=SC2086 # flags are a list
ok "a program that has them all links" links static "$HF_BUILD/libholdfast.a" $libs
ok "and with the shared library" links shared -rdynamic "-L$HF_BUILD" \
    "-Wl,-rpath,$HF_BUILD" -lholdfast
# Else TLS would call the program's function of that name.
programs='static shared'
if [ -e "$HF_BUILD/libholdfast-tls.a" ]; then
    is "$(globals "$HF_BUILD/libholdfast-tls.a")" hf_tls_module \
        "of TLS's archive one name is global"
    # shellcheck disable=SC2086
    ok 'and with TLS inside' links tls -Wl,-u,hf_tls_module \
        "$HF_BUILD/libholdfast-tls.a" "$HF_BUILD/libholdfast.a" $libs -lssl -lcrypto
    programs+=' tls'
fi
server_start one
for program in $programs; do
    for url in "local://$W/store" "${SERVER_URL[one]}?quarantine=off&node_timeout=5s"; do
        is "$("$W/$program" "$url" 2>&1)" 'fence 1' \
            "$program: and runs on ${url%%:*}"
    done
done

# Distributions build all packages with link-time optimization.
lto() {
    cmake -S "$HF_SOURCE" -B "$W/lto" -G Ninja -DHF_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG= -DCMAKE_C_FLAGS="-flto=auto -ffat-lto-objects" \
        >>"$W/log" 2>&1 && ninja -C "$W/lto" libholdfast.a >>"$W/log" 2>&1 && return
    tail -n 20 "$W/log"
    return 1
}
ok 'a build with link-time optimization' lto
is "$(globals "$W/lto/libholdfast.a" | comm -3 "$W/public" -)" '' \
    'has the same global names'
finish
