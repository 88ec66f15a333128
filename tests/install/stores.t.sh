#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# HF_WITHOUT_REDIS and HF_WITHOUT_LOCAL leave out a store and its library: the
# command uses the other store, and an error names the one that is missing.
# timeout: 600
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

build() { # OPTION...
    cmake -S "$HF_SOURCE" -B "$W/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG= -DHF_TESTS=OFF -DHF_WITHOUT_REDIS=OFF \
        -DHF_WITHOUT_LOCAL=OFF "$@" >>"$W/log" 2>&1 &&
        ninja -C "$W/build" holdfast_cli libholdfast.so >>"$W/log" 2>&1 && return
    tail -n 20 "$W/log"
    return 1
}

uses() { # FUNCTION: whether the shared library calls it, wherever it is.
    nm "$W/build/libholdfast.so" | grep -E " [tU] $1\$" >"$W/used"
}

run() { # URL
    capture timeout 30 "$W/build/holdfast" run -u "$1" job -- echo ran
}

server_start one
redis_url="${SERVER_URL[one]}?quarantine=off&node_timeout=5s"
local_url=local://$W/store

ok "a build without Redis" build -DHF_WITHOUT_REDIS=ON
ok "does not need hiredis" test "$(uses redisReaderFeed && echo used)" = ''
ok "but LMDB" uses mdb_env_open
like "$(grep Libs.private "$W/build/generated/holdfast.pc")" \
    '^Libs.private: -llmdb -lpthread' "and says so to pkg-config"
run "$local_url"
is "$code $out" '0 ran' "it locks with the embedded store"
run "$redis_url"
is "$code" 64 "a URL of Redis is refused"
like "$err" 'unknown store "redis\+unix:" .this build has local:; there' "and why"

ok "a build without the embedded store" build -DHF_WITHOUT_LOCAL=ON
ok "does not need LMDB" test "$(uses mdb_env_open && echo used)" = ''
ok "but hiredis" uses redisReaderFeed
run "$redis_url"
is "$code $out" '0 ran' "it locks with Redis"
run "$local_url"
is "$code" 64 "a URL of the embedded store is refused"
like "$err" 'unknown store "local:" .this build has redis:, ' "and why"
capture env -i HOME="$W" XDG_CONFIG_HOME="$W" timeout 30 "$W/build/holdfast" run job -- echo ran
[ -e /etc/holdfast/config ] || # this machine's
    is "$code:$out$err" "78:holdfast: no store configured, and this build has no \
embedded one: set HOLDFAST_URL or /etc/holdfast/config, or add -u URL" 'nothing configured'

capture cmake -S "$HF_SOURCE" -B "$W/none" -DHF_TESTS=OFF \
    -DHF_WITHOUT_REDIS=ON -DHF_WITHOUT_LOCAL=ON
isnt "$code" 0 "a build without any store is refused"
like "$err" 'no store is left' "and why"

# Without OpenSSL there is no TLS, and no package of it.
mkdir "$W/packages"
cp "$(pkg-config --variable=pcfiledir hiredis)/hiredis.pc" "$W/packages"
capture env PKG_CONFIG_LIBDIR="$W/packages" cmake -S "$HF_SOURCE" -B "$W/plain" \
    -G Ninja -DHF_TESTS=OFF -DHF_WITHOUT_LOCAL=ON
is "$code" 0 "a build without OpenSSL"
installed=$(grep -o 'holdfast[a-z-]*\.pc' "$W/plain/cmake_install.cmake" | sort -u)
is "$installed" holdfast.pc "installs no holdfast-tls.pc"
finish
