#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An installation: programs are built against it with pkg-config, with CMake and
# from C++, and run.
# timeout: 300
. "$(dirname "$0")/../lib/tap.sh"

quietly() {
    "$@" >>"$W/log"
}

ok "it installs" quietly env DESTDIR="$W/root" cmake --install "$HF_BUILD"
prefix=$W/root$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' \
    "$HF_BUILD/CMakeCache.txt")
libdir=$(dirname "$(find "$prefix" -name libholdfast.so)")
export PKG_CONFIG_PATH=$libdir/pkgconfig

capture "$prefix/bin/holdfast" --version
like "$out" "$(pkg-config --modversion holdfast)" "the command, of this version"
ok "the manual" test -s "$prefix/share/man/man1/holdfast.1"
is "$(find "$prefix" -name 'store-skel*')" '' "no store of the tests"
if [ -e "$HF_BUILD/store-postgres.so" ]; then
    ok "the PostgreSQL module" test -s "$libdir/holdfast/0.2/store-postgres.so"
    ok "under its other scheme" test -s "$libdir/holdfast/0.2/store-postgresql.so"
fi
ok "the TLS module" test -s "$libdir/holdfast/0.2/holdfast-tls.so"
ok "the program of holdfast top" test -x "$libdir/holdfast/0.2/holdfast-top"
is "$(cd "$prefix/include" && find . -type f | sort)" \
    "$(cd "$HF_SOURCE/include" && find . -name '*.h' -o -name '*.hpp' | sort)" \
    "the public headers, no other"

flags=$(pkg-config --cflags --libs holdfast)
shopt -s nullglob
for example in "$HF_SOURCE"/examples/*.c; do
    more=$(grep -q '<uv.h>' "$example" && pkg-config --cflags --libs libuv)
    # shellcheck disable=SC2086 # flags are a list
    ok "$(basename "$example") builds with pkg-config" gcc -std=c11 -Wall \
        -Werror -D_POSIX_C_SOURCE=200809L -o "$W/example" "$example" $flags \
        $more
done

cat >"$W/use.c" <<'END'
#include <holdfast/holdfast.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock;
    struct hf_error error;
    (void)argc;
    if (hf_client_open(argv[1], NULL, &client, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    hf_request_init(&request, "installed");
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    puts(hf_lock_fence(lock) > 0 ? "held" : "no fence");
    hf_lock_release(lock);
    hf_client_close(client);
    return 0;
}
END
cp "$W/use.c" "$W/use.cc"
url=local://$W/store

# shellcheck disable=SC2086
ok "C99" gcc -std=c99 -pedantic -Wall -Werror -o "$W/c99" "$W/use.c" $flags
is "$(LD_LIBRARY_PATH=$libdir "$W/c99" "$url")" held "it runs"
# shellcheck disable=SC2086
ok "C++17" g++ -std=c++17 -pedantic -Wall -Werror -o "$W/cc" "$W/use.cc" $flags
is "$(LD_LIBRARY_PATH=$libdir "$W/cc" "$url")" held "it runs"
# shellcheck disable=SC2046
ok "static" gcc -std=c11 -o "$W/static" "$W/use.c" \
    $(pkg-config --cflags holdfast) "$libdir/libholdfast.a" \
    $(pkg-config --libs --static holdfast | sed 's/-lholdfast//')
is "$("$W/static" "$url")" held "it runs"

mkdir "$W/project"
cp "$W/use.c" "$W/project"
cat >"$W/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(use C)
find_package(Holdfast 0.2 REQUIRED)
add_executable(shared use.c)
target_link_libraries(shared PRIVATE Holdfast::holdfast)
add_executable(static use.c)
target_link_libraries(static PRIVATE Holdfast::holdfast_static)
END
ok "a CMake project finds it" quietly cmake -G Ninja -S "$W/project" \
    -B "$W/project/build" -DCMAKE_PREFIX_PATH="$prefix"
ok "and builds" quietly cmake --build "$W/project/build"
is "$("$W/project/build/shared" "$url")" held "shared, it runs"
is "$("$W/project/build/static" "$url")" held "static, it runs"

# Before 1.0 a minor version may be incompatible: it has another file name, and
# is never loaded in place of an earlier one.
capture readelf -d "$libdir/libholdfast.so"
like "$out" 'SONAME.*\[libholdfast\.so\.0\.2\]' "the library's name: 0.2"
capture ldd "$W/c99"
like "$out" 'libholdfast\.so\.0\.2 ' "programs ask for it"
sed -i 's/Holdfast 0.2/Holdfast 0.1/' "$W/project/CMakeLists.txt"
capture cmake -G Ninja -S "$W/project" -B "$W/project/older" \
    -DCMAKE_PREFIX_PATH="$prefix"
isnt "$code" 0 "a project that asks for 0.1 does not get it"
like "$err" 'HoldfastConfig.cmake, version: 0.2.0' "and is told so"

# After a move the tree finds its own parts: TLS gets as far as the network.
moved=$W/moved
mv "$prefix" "$moved"
moved_lib=$moved${libdir#"$prefix"}
unset HOLDFAST_MODULE_DIR LD_LIBRARY_PATH
capture "$moved/bin/holdfast" top -u local:
is "$code:$err" '64:holdfast: top: needs a terminal; `holdfast ls --follow` does not' \
    "moved: holdfast top is found"
nowhere='rediss://127.0.0.1:1?connect_timeout=1s'
capture "$moved/bin/holdfast" run -n -u "$nowhere" x -- true
is "$code" 69 "moved: TLS is found by the command"
like "$err" 'refused' "… which gets as far as the network"
like "$(LD_LIBRARY_PATH=$moved_lib "$W/c99" "$nowhere")" 'refused' \
    "moved: TLS is found by a program, beside the library"
mkdir "$W/links"
ln -s "$moved_lib/libholdfast.so.0.2" "$W/links"
like "$(LD_LIBRARY_PATH=$W/links "$W/c99" "$nowhere")" 'refused' \
    "… also where a link leads to it"
like "$("$W/static" "$nowhere")" 'TLS cannot be loaded' \
    "a static program elsewhere has no TLS, and says so"
export PKG_CONFIG_PATH=$moved_lib/pkgconfig
# shellcheck disable=SC2046
ok "static, with TLS" gcc -std=c11 -o "$W/static-tls" "$W/use.c" \
    $(pkg-config --cflags holdfast) "$moved_lib/libholdfast.a" \
    $(pkg-config --libs --static holdfast-tls) \
    $(pkg-config --libs --static holdfast | sed 's/-lholdfast//')
like "$("$W/static-tls" "$nowhere")" 'refused' "has TLS wherever it is"

# No library that only some URLs need is loaded for the others.
capture ldd "$moved/bin/holdfast"
unlike "$out" 'ssl|crypto|curl|libpq' "the command does not load TLS"
finish
