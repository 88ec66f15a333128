#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that runs with more rights than its caller (AT_SECURE, as setuid
# programs do) loads no module, TLS or store, from a place that the caller can
# choose: not from HOLDFAST_MODULE_DIR, not from the library's folder, not from
# its own tree. No program loads one from where a relative path of the library
# leads after chdir().
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" = 0 ] || skip_all 'needs root'
unset HOLDFAST_MODULE_DIR

# An installed tree that was moved, with a module that prints when it is loaded.
configured=$(sed -nE 's/.*HF_BIN_TO_MODULES=\\*"([^"\\]*)\\*".*/\1/p' \
    "$HF_BUILD/build.ninja" | head -n 1)
like "$configured" '^\.\./[a-z]' "modules are found from bin: $configured"
folder=lib/holdfast/${configured##*/}
mkdir -p "$W/tree/bin" "$W/tree/$folder" "$W/tree/bin/$configured" \
    "$W/named"
chmod -R 755 "$W"
cat >"$W/spy.c" <<'END_OF_C'
#include <stdio.h>
__attribute__((constructor)) static void loaded(void)
{
    puts("loaded");
    fflush(stdout);
}
END_OF_C
for file in holdfast-tls.so store-spy.so; do
    gcc -shared -fPIC -o "$W/named/$file" "$W/spy.c" || exit
done
cat >"$W/use.c" <<'END_OF_C'
#include <holdfast/holdfast.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct hf_client *client;
    printf("secure %lu\n", getauxval(AT_SECURE));
    fflush(stdout);
    if (argc > 2 && chdir(argv[2]) != 0) {
        return 1;
    }
    if (argc > 1) {
        return hf_client_open(argv[1], NULL, &client, NULL) == HF_OK;
    }
    (void)hf_has_tls();
    return 0;
}
END_OF_C
cp "$HF_BUILD"/libholdfast.so* "$W/tree/lib"
gcc -o "$W/tree/bin/shared" "$W/use.c" "-I$HF_SOURCE/include" "-L$W/tree/lib" \
    "-Wl,-rpath,$W/tree/lib" -lholdfast || exit
# shellcheck disable=SC2046 # flags are a list
gcc -o "$W/tree/bin/static" "$W/use.c" "-I$HF_SOURCE/include" \
    "$HF_BUILD/libholdfast.a" \
    $(sed -n 's/^Libs.private: //p' "$HF_BUILD/generated/holdfast.pc") || exit

# Another user's program with the rights of root, as if it were setuid, also if
# the file system ignores that bit.
secure() { # COMMAND...
    setpriv --ruid 65534 "$@"
}

both() { # WHAT PROGRAM MODULE-DIR
    [ "$3" = "$W/named" ] || cp "$W"/named/*.so "$3"
    is "$("$2")" "secure 0"$'\n'loaded "$1: TLS is loaded without more rights"
    is "$(secure "$2")" 'secure 1' "$1: TLS is not loaded with more rights"
    is "$("$2" spy:)" "secure 0"$'\n'loaded "$1: a store is, without more rights"
    is "$(secure "$2" spy:)" 'secure 1' "$1: a store is not, with more rights"
    [ "$3" = "$W/named" ] || rm "$3/holdfast-tls.so" "$3/store-spy.so"
}

both 'beside the library' "$W/tree/bin/shared" "$W/tree/$folder"
both "in the program's tree" "$W/tree/bin/static" "$W/tree/bin/$configured"
export HOLDFAST_MODULE_DIR=$W/named
both 'HOLDFAST_MODULE_DIR' "$W/tree/bin/static" "$W/named"
unset HOLDFAST_MODULE_DIR

# The same folders below another one, which is the current one by then.
mkdir -p "$W/other/$folder"
cp "$HF_BUILD"/libholdfast.so* "$W/other/lib"
sed 's/"loaded"/"of another folder"/' "$W/spy.c" |
    gcc -shared -fPIC -o "$W/other/$folder/store-spy.so" -x c - || exit
cp "$W/named/store-spy.so" "$W/tree/$folder"
gcc -o "$W/tree/relative" "$W/use.c" "-I$HF_SOURCE/include" "-L$W/tree/lib" \
    -lholdfast || exit
is "$(env -C "$W/tree" LD_LIBRARY_PATH=lib ./relative spy: "$W/other")" \
    "secure 0"$'\n'loaded 'a relative path of the library: beside its file'
finish
