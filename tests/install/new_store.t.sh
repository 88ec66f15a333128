#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# A new store: tests/skeleton copied into src/store, and one line in
# CMakeLists.txt. It is built, an option leaves it out, and it is installed where
# programs find it, also after the tree has moved.
. "$(dirname "$0")/../lib/tap.sh"
unset HOLDFAST_MODULE_DIR

# The sources, with links to all that stays the same.
tree=$W/source
mkdir -p "$tree/src/store"
for path in CMakeLists.txt cmake include src/base src/client src/core src/io \
    src/store/redis src/store/local src/store/postgres src/store/mysql cli \
    completions docs; do
    ln -s "$HF_SOURCE/$path" "$tree/$path"
done
for path in "$HF_SOURCE"/src/store/*.[ch]; do
    ln -s "$path" "$tree/src/store"
done
cp -r "$HF_SOURCE/tests/skeleton" "$tree/src/store/new"
sed -i 's/"skeleton", "skel"/"new", "newer"/' "$tree/src/store/new/store.c"
rm "$tree/CMakeLists.txt"
sed 's/^include(cmake\/store.cmake)$/&\nhf_store_module(NEW SCHEMES new newer)/' \
    "$HF_SOURCE/CMakeLists.txt" >"$tree/CMakeLists.txt"

quietly() {
    "$@" >"$W/log" 2>&1 && return
    tail -n 20 "$W/log"
    return 1
}
configure() { # OPTION...
    quietly cmake -S "$tree" -B "$W/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG= \
        -DHF_TESTS=OFF -DHF_WITHOUT_POSTGRES=ON -DHF_WITHOUT_MYSQL=ON \
        -DHF_WITHOUT_ETCD=ON -DHF_WITHOUT_CONSUL=ON -DHF_WITHOUT_ZOOKEEPER=ON \
        -DCMAKE_INSTALL_PREFIX="$W/prefix" "$@"
}

ok 'HF_WITHOUT_NEW' configure -DHF_WITHOUT_NEW=ON
unlike "$(ninja -C "$W/build" -t targets all)" 'store-new' 'leaves it out'
ok 'without it' configure -DHF_WITHOUT_NEW=OFF
ok 'it is built' quietly ninja -C "$W/build"
ok 'it is installed' quietly cmake --install "$W/build"
is "$(cd "$W/prefix" && find . -name 'store-*' -printf '%f %l\n' | sort)" \
    $'store-new.so \nstore-newer.so store-new.so' 'with a link for its other scheme'

finds() { # PREFIX WHAT
    local scheme
    for scheme in new newer; do
        capture "$1/bin/holdfast" run -n -u "$scheme:" job -- printf ran
        is "$code:$out$err" 0:ran "$2: $scheme: is found by the command"
    done
}
finds "$W/prefix" installed
moved=$W/moved
mv "$W/prefix" "$moved"
finds "$moved" moved

cat >"$W/use.c" <<'END'
#include <holdfast/holdfast.h>
#include <stdio.h>
int main(void)
{
    struct hf_client *client;
    struct hf_request request;
    struct hf_lock *lock, *other = NULL;
    struct hf_error error;
    if (hf_client_open("newer:", NULL, &client, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    hf_request_init(&request, "job");
    if (hf_lock_acquire(client, &request, &lock, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    request.wait_ms = 0;
    puts(hf_lock_acquire(client, &request, &other, &error) == HF_BUSY
             ? "excludes"
             : "does not exclude");
    hf_lock_release(lock);
    hf_client_close(client);
    return 0;
}
END
lib=$(dirname "$(find "$moved" -name libholdfast.so)")
ok 'a program is linked' gcc -o "$W/use" "$W/use.c" "-I$moved/include" \
    "-L$lib" "-Wl,-rpath,$lib" -lholdfast
is "$("$W/use")" excludes 'moved: found by a program, beside the library'
# shellcheck disable=SC2046 # flags are a list
ok 'a program is linked with the archive' gcc -o "$W/use" "$W/use.c" \
    "-I$moved/include" "$lib/libholdfast.a" \
    $(sed -n 's/^Libs.private: //p' "$lib/pkgconfig/holdfast.pc")
is "$(HOLDFAST_MODULE_DIR=$lib/holdfast/0.2 "$W/use")" excludes \
    'which exports nothing: the module needs nothing of it'
like "$("$W/use")" "no module store-newer.so in $W/prefix/.*/holdfast/0.2" \
    'elsewhere the folder is named in which it was looked for'
finish
