#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# A program built against this release's header runs unchanged on a later
# library whose structs have grown. That library is built here: this one, with
# more members in every public struct but struct hf_error, which is final.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

quietly() {
    "$@" >"$W/log" 2>&1 || {
        tail -n 20 "$W/log"
        false
    }
}

mkdir "$W/later" || exit
cp -r "$HF_SOURCE"/{CMakeLists.txt,cmake,include,src,cli,docs} "$W/later" || exit
headers=("$W"/later/include/holdfast/*.h)
opaque=$W/later/src/core/opaque.h
request=$W/later/src/client/request.c
open=$W/later/src/client/open.c

# Structs that the caller fills grow at their end; those that the library fills
# grow anywhere.
sed -Ei '/^struct hf_(client_options|request|name) \{/,/^};/ {
    s/^};/    uint64_t grown[8];\n&/
}' "${headers[@]}"
awk '{ print } /^struct hf_[a-z_]+ \{/ { print "    uint64_t grown[8];" }' \
    "$HF_SOURCE/src/core/opaque.h" >"$opaque"

# The library reads the new members, which must be zero for it.
sed -i 's/^    enum hf_status status = read_size(request, &full, error);/&\n    for (int i = 0; i < 8; i++) {\n        status = full.grown[i] != 0 ? HF_INTERNAL : status;\n    }/
    s/^    return hf_sized_read(out, sizeof(\*out), first/    memset(out->grown, 1, sizeof(out->grown));\n&/
    s/hf_name_check(client, name.name, name.name_len, error);/&\n        status = name.grown[7] != 0 ? HF_INTERNAL : status;/' "$request"
sed -i 's/^    if (out->thread != HF_THREAD_AUTO &&/    for (int i = 0; i < 8; i++) {\n        if (out->grown[i] != 0) {\n            return HF_INTERNAL;\n        }\n    }\n&/' "$open"

is "$(cat "${headers[@]}" | grep -c 'uint64_t grown')" 3 "three structs of the caller grow"
is "$(grep -c 'uint64_t grown' "$opaque")" \
    "$(grep -c '^struct hf_.* {' "$HF_SOURCE/src/core/opaque.h")" \
    "and each that the library fills"
is "$(grep -c 'grown\[' "$request")" 2 "requests and names are read"
is "$(grep -c 'grown\[' "$open")" 1 "and options"
is "$(grep -hoE '^struct hf_[a-z_]+ \{' "$HF_SOURCE"/include/holdfast/*.h |
    sort | tr -d '\n')" \
    "struct hf_client_options {struct hf_error {struct hf_name {struct hf_request {" \
    "no other struct has a layout that programs know"

ok "the later library configures" quietly cmake -S "$W/later" -B "$W/build" \
    -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG= -DHF_TESTS=OFF
ok "and builds" quietly ninja -C "$W/build" \
    libholdfast.so
ok "a program builds against this release" gcc -std=c11 -Wall -Werror \
    -D_POSIX_C_SOURCE=200809L "-I$HF_SOURCE/include" -o "$W/program" \
    "$HF_SOURCE/tests/install/program.c" "-L$HF_BUILD" -lholdfast

server_start one
for url in "local://$W/store" "${SERVER_URL[one]}?quarantine=off&node_timeout=5s"; do
    for library in "$HF_BUILD" "$W/build"; do
        which=${library##*/}
        [ "$library" = "$W/build" ] && which='a library whose structs have grown'
        capture env "LD_LIBRARY_PATH=$library" timeout 60 "$W/program" "$url"
        is "$out$err" right "${url%%:*}, on $which"
    done
done
finish
