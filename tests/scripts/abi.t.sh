#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# scripts/checks/abi accepts changes that do not affect programs, and no others.
. "$(dirname "$0")/../lib/tap.sh"

command -v abidw >/dev/null || skip_all "no abigail-tools"
mkdir "$W/tree" || exit
cp -r "$HF_SOURCE"/{CMakeLists.txt,cmake,include,src,cli,docs,abi,scripts} \
    "$W/tree" || exit
locks=include/holdfast/locks.h
clients=include/holdfast/clients.h
outcomes=include/holdfast/outcomes.h
cd "$W/tree" || exit
cmake -S . -B build -G Ninja -DHF_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug \
    >"$W/log" || exit

# With the changes that the pairs of FILE and sed SCRIPT make. A build costs more
# than all the rest: changes whose reports can be told apart share one, and a file
# that stays the same keeps its time.
files=("$locks" "$clients" "$outcomes" src/core/opaque.h CMakeLists.txt)
changed() { # FILE SCRIPT...
    local file next=$W/next
    rm -rf "$next"
    mkdir "$next"
    (cd "$HF_SOURCE" && cp --parents "${files[@]}" "$next") || exit
    while [ $# != 0 ]; do
        cp "$next/$1" "$W/before"
        sed -i "$2" "$next/$1"
        ! cmp -s "$next/$1" "$W/before" || fail "$1 is not changed: $2"
        shift 2
    done
    for file in "${files[@]}"; do
        cmp -s "$next/$file" "$file" || cp "$next/$file" "$file"
    done
    ninja -C build libholdfast.so >"$W/log" 2>&1 || tail -n 20 "$W/log"
    capture env "HF_BUILD=$W/tree/build" scripts/checks/abi
}

breaks=("$locks" 's/^    int64_t ttl_ms;/    int64_t later; &/'
    "$locks" 's/^    uint32_t permits;/    uint16_t permits;/'
    "$outcomes" 's/^    char text\[1000\];/    char text[1001];/'
    "$outcomes" 's/^    X(HF_LOST,/    X(HF_LATER, HF_CLASS_FATAL, "later") &/')

# With a new name everything may change, and is recorded anew.
changed CMakeLists.txt 's/VERSION 0\.2\.0/VERSION 0.3.0/' "${breaks[@]}"
is "$code" 1 "a new name: fails"
like "$out" 'libholdfast.so.0.3.abi is missing' "a new name: is not recorded"
ok "a new name: it is recorded" env "HF_BUILD=$W/tree/build" \
    scripts/checks/abi --record
capture env "HF_BUILD=$W/tree/build" scripts/checks/abi
is "$code $out" "0 " "a new name: then it passes"

# The same changes, with the name of now: only this is linked anew.
changed "${breaks[@]}"
is "$code" 1 "changes fail"
like "$out" "int64_t later" "a member in the middle is reported"
like "$out" "from uint32_t to uint16_t" "a member of another type is"
like "$out" "from 'char\[1000\]' to 'char\[1001\]'" "an error that grows is"
like "$out" "hf_status::HF_LATER" "a status in the middle is"
like "$out" 'give the library a new name' "and what to do"

# New members where the caller gives its size, a new status, larger opaque structs.
changed "$locks" '/^struct hf_request {/,/^};/s/^};/    int64_t later;\n};/' \
    "$clients" '
    /^struct hf_client_options {/,/^};/s/^};/    int64_t later;\n};/' \
    "$outcomes" '
    s/^    X(HF_INTERNAL, .*)/& X(HF_LATER, HF_CLASS_FATAL, "later")/' \
    src/core/opaque.h '/^struct hf_.* {/a int later;'
is "$code $err" "0 " "additions pass"
finish
