#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A store that is not part of this build is the module store-SCHEME.so. Only a
# URL with its scheme loads it. A module that cannot be used is refused in one
# line, which names the file. The modules of this build call no function of the
# program that has the name of one of their libraries.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_MODULE_DIR=$W/modules
mkdir "$HOLDFAST_MODULE_DIR"

module() { # SCHEME < SOURCE
    local file=$HOLDFAST_MODULE_DIR/store-$1.so
    gcc -shared -fPIC -D_GNU_SOURCE "-I$HF_SOURCE/src" "-I$HF_SOURCE/include" \
        -o "$file" -x c - || exit
}

# Prints a line when it is loaded.
loaded_says='
#include <unistd.h>
__attribute__((constructor)) static void loaded(void)
{
    (void)!write(1, "loaded\n", 7);
}
'
# A store that lacks one operation, close.
incomplete='
#include "store/store.h"
static enum hf_status open_none(const struct hf_url *url,
                                const struct hf_store_env *env,
                                struct hf_store **out, struct hf_error *error)
{
    (void)url; (void)env; (void)out; (void)error;
    return HF_INTERNAL;
}
static const char *const schemes[] = {"half", 0};
static const struct hf_store_ops ops = {
    .name = "half", .schemes = schemes, .retry_base = {1}, .retry_cap = {1},
    .open = open_none};
'

refused() { # URL PATTERN WHAT [CODE]
    capture holdfast run -n -u "$1" job -- true
    is "$code:$(printf %s "$err" | grep -c '')" "${4:-64}:1" "$3: exit ${4:-64}, one line"
    like "$err" "^holdfast: -u: $2" "$3: the reason"
}

refused spy: "unknown store \"spy:\" \\(this build has local:, redis:, .*; there is \
no module store-spy.so in $HOLDFAST_MODULE_DIR\\)$" 'no module'
refused 'reddis://u:sesame@a?x=1' 'unknown store "reddis:": did you mean "redis:"\?' \
    'a slip'
unlike "$err" sesame 'without its password'

module spy <<<"$loaded_says"
capture holdfast run -n -u "local://$W/store" job -- echo ran
is "$code:$out" 0:ran 'another URL does not load a module'
refused spy: "$HOLDFAST_MODULE_DIR/store-spy.so is no store of Holdfast: it has no \
\"hf_store_module\"$" 'not a store'
is "$out" loaded 'its URL loads it'
refused SPY:a "$HOLDFAST_MODULE_DIR/store-spy.so is no store" 'in capitals'

module old <<'END'
struct { const char *version; } hf_store_module = {"0.1.7"};
END
refused old: "$HOLDFAST_MODULE_DIR/store-old.so is of version 0.1.7, and this is \
Holdfast [0-9.]+: install both of one version$" 'another version'

module half <<<"$incomplete HF_STORE_MODULE(ops);"
refused half: "$HOLDFAST_MODULE_DIR/store-half.so is incomplete: it lacks \"close\"$" \
    'an operation less'
module none <<<'#include "store/store.h"
extern const struct hf_store_module hf_store_module;
const struct hf_store_module hf_store_module = {HF_VERSION_TEXT, 0};'
refused none: "$HOLDFAST_MODULE_DIR/store-none.so is incomplete: it lacks \"ops\"$" \
    'no table'
module full <<<"$incomplete
static void x(void) {}
static const struct hf_store_ops full = {
    .name = \"half\", .schemes = schemes, .retry_base = {1}, .retry_cap = {1},
    .open = open_none, .close = (void *)x, .ask = (void *)x,
    .describe = (void *)x, .job = (void *)x, .job_cancel = (void *)x};
HF_STORE_MODULE(full);"
refused full: "$HOLDFAST_MODULE_DIR/store-full.so has the store \"half:\", and not \
\"full:\"$" 'under the name of another'

echo 'no shared object, and long enough to be looked at in earnest ....' \
    >"$HOLDFAST_MODULE_DIR/store-text.so"
refused text: "the store \"text:\" cannot be loaded: .*/store-text.so: .*ELF" \
    'not a shared object'
module lacks <<'END'
extern void hf_is_nowhere(void);
void call(void);
void call(void)
{
    hf_is_nowhere();
}
END
refused lacks: "the store \"lacks:\" cannot be loaded: .*hf_is_nowhere" \
    'a function that is nowhere'

# TLS is such a module too: of another build, or with an operation less, it is
# refused before its first call.
tls() { # ABI OPERATIONS: a module with that number and those operations
    gcc -shared -fPIC -D_GNU_SOURCE "-I$HF_SOURCE/src" "-I$HF_SOURCE/include" \
        -o "$HOLDFAST_MODULE_DIR/holdfast-tls.so" -x c - <<<"
#include \"io/tls.h\"
static void x(void) {}
extern const struct hf_tls_ops hf_tls_module;
const struct hf_tls_ops hf_tls_module = {.abi = $1$(printf ', .%s = (void *)x' $2)};" ||
        exit
}
tls_file="TLS: $HOLDFAST_MODULE_DIR/holdfast-tls.so"
operations=$(sed -nE 's/^    hf_tls_[a-z_]+_fn \*([a-z_]+);.*/\1/p' "$HF_SOURCE/src/io/tls.h")
is "$(wc -w <<<"$operations")" 11 'the operations of TLS'
tls HF_TLS_ABI-1 "$operations"
refused rediss://127.0.0.1:1 "$tls_file is of another version$" 'TLS of another version' 78
for less in $operations; do
    tls HF_TLS_ABI "$(grep -vx "$less" <<<"$operations")"
    refused rediss://127.0.0.1:1 "$tls_file is incomplete: it lacks \"$less\"$" \
        "TLS without $less" 78
done
rm "$HOLDFAST_MODULE_DIR/holdfast-tls.so"

refused ../spy: 'not a store URL' 'a scheme is no path'
refused "spy: redis://a redis://b" '"spy:" cannot be given with other URLs' \
    'beside other URLs' 78

# Of the libraries whose names have no version only libpq is not inside: its ABI
# is that of all versions of it.
for file in "$HF_BUILD"/store-*.so; do
    [ ! -L "$file" ] || continue
    is "$(nm -D --undefined-only "$file" |
        awk '$1 != "w" && $2 !~ /^PQ|@(GLIBC|libmysqlclient|libmariadb|libjansson)/ { print $2 }')" \
        '' "$(basename "$file"): its libraries are inside"
done
# A program that has all names of the multi-threaded client, which are those of
# the single-threaded one: before its first connection the module calls some.
archive=$(sed -n 's/^HF_ZOOKEEPER_ST_ARCHIVE:FILEPATH=//p' "$HF_BUILD/CMakeCache.txt")
nm -g --defined-only "$archive" | awk '$2 == "T" { print $3 }' | sort -u >"$W/names"
like "$(cat "$W/names")" zookeeper_init2 "${archive:-ZooKeeper} has names"
{
    echo '#include <stdlib.h>'
    sed 's/.*/void &(void);\nvoid &(void) { abort(); }/' "$W/names"
    cat <<'END_OF_C'
#include <holdfast/holdfast.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error;
    hf_request_init(&request, "job");
    request.wait_ms = 0;
    if (argc == 2 && hf_client_open(argv[1], NULL, &client, &error) == HF_OK) {
        if (hf_lock_acquire(client, &request, &lock, &error) == HF_OK)
            hf_lock_release(lock);
        hf_client_close(client);
    }
    puts(error.text);
    return 0;
}
END_OF_C
} >"$W/clash.c"
ok 'a program that has them all' gcc -std=c11 -Wall -Werror -rdynamic \
    "-I$HF_SOURCE/include" -o "$W/clash" "$W/clash.c" "-L$HF_BUILD" \
    "-Wl,-rpath,$HF_BUILD" -lholdfast
capture env HOLDFAST_MODULE_DIR="$HF_BUILD" timeout 30 "$W/clash" zookeeper://127.0.0.1:1
like "$code:$out" '^0:.*refused' 'none of them is called: its reason is the network'
finish
