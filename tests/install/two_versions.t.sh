#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two versions of the library in one folder, by the names of their sonames: each
# loads its own modules. The later version is this one with another number, with one
# store that is a module.
# timeout: 600
. "$(dirname "$0")/../lib/tap.sh"
[ -e "$HF_BUILD/store-etcd.so" ] || skip_all 'built without etcd'
[ -e "$HF_BUILD/holdfast-tls.so" ] || skip_all 'built without TLS'

quietly() {
    "$@" >"$W/log" 2>&1 || {
        tail -n 20 "$W/log"
        false
    }
}

# The configured folder is the one that both are installed to.
version() { # TEXT MINOR
    mkdir "$W/$1"
    cp -r "$HF_SOURCE"/{CMakeLists.txt,cmake,include,src,docs} "$W/$1" || exit
    sed -i "s/VERSION 0\.2\.0 /VERSION $1 /" "$W/$1/CMakeLists.txt"
    sed -i "s/\"0\.2\.0\"/\"$1\"/; s/\(HF_VERSION_MINOR\) 2/\1 $2/" \
        "$W/$1/include/holdfast/outcomes.h"
    quietly cmake -S "$W/$1" -B "$W/build-$1" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
        -DCMAKE_C_FLAGS_DEBUG= -DCMAKE_INSTALL_PREFIX="$W/prefix" -DHF_TESTS=OFF \
        -DHF_COMMAND=OFF -DHF_WITHOUT_LOCAL=ON -DHF_WITHOUT_POSTGRES=ON \
        -DHF_WITHOUT_CONSUL=ON -DHF_WITHOUT_ZOOKEEPER=ON -DHF_WITHOUT_MYSQL=ON &&
        quietly ninja -C "$W/build-$1"
}

cat >"$W/use.c" <<'END'
#include <holdfast/holdfast.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    struct hf_client *client;
    struct hf_error error;
    (void)argc;
    if (hf_client_open(argv[1], NULL, &client, &error) != HF_OK) {
        puts(error.text);
        return 1;
    }
    printf("opened by %s, TLS: %d\n", hf_version(), hf_has_tls());
    hf_client_close(client);
    return 0;
}
END

link_with() { # VERSION: a program of it, from what is installed last
    local libdir
    libdir=$(dirname "$(find "$W/prefix" -name libholdfast.so)")
    gcc -o "$W/use-$1" "$W/use.c" "-I$W/prefix/include" "-L$libdir" \
        "-Wl,-rpath,$libdir" -lholdfast
}

unset HOLDFAST_MODULE_DIR
for of in '0.2.0 2' '0.3.0 3'; do
    read -r text minor <<<"$of"
    ok "$text is built" version "$text" "$minor"
    ok "$text is installed" quietly cmake --install "$W/build-$text"
    ok "a program of $text" link_with "$text"
    is "$("$W/use-$text" etcd://127.0.0.1:1)" "opened by $text, TLS: 1" \
        "$text finds its modules"
done
is "$(find "$W/prefix" -name 'libholdfast.so.0.?' -printf '%f\n' | sort | paste -sd' ')" \
    'libholdfast.so.0.2 libholdfast.so.0.3' 'both libraries are there'
is "$("$W/use-0.2.0" etcd://127.0.0.1:1)" 'opened by 0.2.0, TLS: 1' \
    'the earlier one still finds its modules'

# Also where the tree was moved, and where its modules were removed.
mv "$W/prefix" "$W/moved"
libdir=$(dirname "$(find "$W/moved" -name libholdfast.so)")
for text in 0.2.0 0.3.0; do
    is "$(LD_LIBRARY_PATH=$libdir "$W/use-$text" etcds://127.0.0.1:1)" \
        "opened by $text, TLS: 1" "moved: $text finds its modules"
done
find "$W/moved" -name 'store-etcd.so' -path '*/0.2/*' -delete
like "$(LD_LIBRARY_PATH=$libdir "$W/use-0.2.0" etcd://127.0.0.1:1)" \
    'no module store-etcd\.so' 'those of the other version are not tried'
finish
