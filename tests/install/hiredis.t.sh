#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The library builds and works with hiredis 1.x, as newer distributions have it.
# scripts/test unpacks it, without installing it, from a newer Debian.
. "$(dirname "$0")/../lib/tap.sh"

root=$HF_SOURCE/build-hiredis
header=$(find "$root" -path '*/hiredis/hiredis.h' 2>/dev/null)
[ -n "$header" ] || skip_all "no hiredis 1.x: scripts/test unpacks it"
major=$(awk '$2 == "HIREDIS_MAJOR" { print $3 }' "$header")
is "$major" 1 "hiredis $major.x is what is unpacked"

archive=$(find "$root" -name libhiredis.a)
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
finish
