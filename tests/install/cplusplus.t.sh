#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# holdfast.hpp compiles without warnings in each C++ from C++11 on, and its
# functions work on real stores.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
    -Wnon-virtual-dtor -Wold-style-cast -Werror)
build() { # COMPILER STANDARD
    "$1" "-std=$2" "${warnings[@]}" "-I$HF_SOURCE/include" -pthread -g \
        -o "$W/raii-$1-$2" "$HF_SOURCE/tests/install/raii.cc" "-L$HF_BUILD" \
        -lholdfast
}

server_start one
export LD_LIBRARY_PATH=$HF_BUILD
for build in 'g++ c++11' 'g++ c++20' 'clang++ c++11' 'clang++ c++17'; do
    read -r compiler standard <<<"$build"
    ok "it compiles: $build" build "$compiler" "$standard"
    capture "$W/raii-$compiler-$standard" \
        "local://$W/$compiler-$standard"
    is "$out$err" right "on the embedded store: $build"
done
capture "$W/raii-g++-c++11" "${SERVER_URL[one]}?quarantine=off&node_timeout=5s"
is "$out$err" right "on a server"
if command -v valgrind >/dev/null; then
    capture valgrind -q --leak-check=full --error-exitcode=9 \
        "$W/raii-g++-c++11" "local://$W/other"
    is "$code $out" "0 right" "nothing leaks"
    [ "$code" = 0 ] || diag "$err"
else
    skip "nothing leaks" "no valgrind"
fi
finish
