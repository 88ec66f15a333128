#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The source tree as a part of another CMake project, by add_subdirectory() and by
# FetchContent: the library and its modules are built, no tests and no command, and
# the other project's settings, names and installation stay its own.
# timeout: 600
. "$(dirname "$0")/../lib/tap.sh"

# Targets and settings that other projects have; all modules but one are left out
# to save time.
mkdir "$W/project"
cat >"$W/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(use C)
set(CMAKE_UNITY_BUILD ON)
foreach(name tests test_all format check run top unit bench docs)
  add_custom_target(\${name})
endforeach()
foreach(name POSTGRES CONSUL ZOOKEEPER MYSQL)
  set(HF_WITHOUT_\${name} ON)
endforeach()
if(FETCH)
  include(FetchContent)
  FetchContent_Declare(Holdfast SOURCE_DIR "$HF_SOURCE"
    BINARY_DIR "\${CMAKE_BINARY_DIR}/holdfast" OVERRIDE_FIND_PACKAGE)
  find_package(Holdfast REQUIRED)
else()
  add_subdirectory("$HF_SOURCE" holdfast)
endif()
add_executable(shared use.c)
target_link_libraries(shared PRIVATE Holdfast::holdfast)
add_executable(static use.c)
target_link_libraries(static PRIVATE Holdfast::holdfast_static)
if(TARGET Holdfast::holdfast_tls_static)
  add_executable(static_tls use.c)
  target_link_libraries(static_tls PRIVATE Holdfast::holdfast_static
    Holdfast::holdfast_tls_static)
endif()
install(TARGETS shared)
END
cat >"$W/project/use.c" <<'END'
#include <holdfast/holdfast.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error;
    (void)argc;
    hf_request_init(&request, "part");
    if (hf_client_open(argv[1], NULL, &client, &error) != HF_OK ||
        hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    puts(hf_lock_fence(lock) > 0 ? "held" : "no fence");
    hf_lock_release(lock);
    hf_client_close(client);
    return 0;
}
END

configure() { # OPTION...
    cmake -G Ninja -S "$W/project" -B "$W/build" -DCMAKE_BUILD_TYPE= "$@" \
        >>"$W/log" 2>&1 && return
    tail -n 20 "$W/log"
    return 1
}

build() {
    ninja -C "$W/build" >>"$W/log" 2>&1 && return
    tail -n 20 "$W/log"
    return 1
}

uses() { # WHAT: the programs lock, and find the modules of the build tree.
    local program
    for program in shared static; do
        is "$(timeout 30 "$W/build/$program" "local://$W/store")" held \
            "$1: $program, it locks"
    done
    like "$(timeout 30 "$W/build/shared" 'etcd://127.0.0.1:1?connect_timeout=1s')" \
        refused "$1: a store's module is found"
    like "$(timeout 30 "$W/build/shared" 'rediss://127.0.0.1:1?connect_timeout=1s')" \
        refused "$1: so is TLS"
    like "$(timeout 30 "$W/build/static_tls" 'rediss://127.0.0.1:1?connect_timeout=1s')" \
        refused "$1: TLS may be linked in"
}

unset HOLDFAST_MODULE_DIR
ok 'add_subdirectory: it configures' configure
is "$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$W/build/CMakeCache.txt")" '' \
    'the build type is left to the project'
targets=$(ninja -C "$W/build" -t targets all)
is "$(grep -c '^shared: C_EXECUTABLE' <<<"$targets")" 1 'the targets are seen'
is "$(grep -E '(tests|examples|bench|fuzz|sim|cli)/[^ ]*\.o:|holdfast_cli' <<<"$targets")" '' \
    'no tests, examples, benches or command'
ok 'it builds' build
flags() { # FOLDER: flags of ours with which one of its files is compiled
    ninja -C "$W/build" -t commands shared | grep "$1.*\.o -c " | head -n 1 |
        grep -oE -e ' -(Wconversion|std=c11|fno-plt|D_GNU_SOURCE|fvisibility=hidden)' | wc -l
}
is "$(flags hf_core.dir):$(flags shared.dir)" 5:0 \
    'the flags of ours are not those of the project'
uses 'add_subdirectory'

installs() { # what the project installs, of the files of ours
    rm -rf "$W/root"
    DESTDIR=$W/root cmake --install "$W/build" >>"$W/log" 2>&1
    (cd "$W/root/usr/local" && find . -type f -o -type l | sort)
}
is "$(installs)" './bin/shared' 'it installs its own program alone'

# A folder of its own for libraries, and no archives of the packages: a program
# that links our archive links those.
ok 'FetchContent: it configures' configure -DFETCH=ON -DHF_INSTALL=ON \
    -DHIREDIS_ARCHIVE= -DLMDB_ARCHIVE= -DCMAKE_LIBRARY_OUTPUT_DIRECTORY="$W/libraries"
rm -rf "$W/build/holdfast"/*.so*
ok 'it builds' build
uses 'FetchContent'
like "$(installs)" 'bin/shared.*lib/.*HoldfastConfig\.cmake.*store-etcd\.so.*libholdfast\.so' \
    'HF_INSTALL: Holdfast is installed too'
finish
