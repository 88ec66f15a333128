#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of cycles names the files of src or cli that include each other in
# one, the files of src/client that call each other in one, and each call of a
# file that ARCHITECTURE.md has before its caller.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/cycles
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/client" "$W/build/CMakeFiles/hf_rest.dir/src/client"
cd "$W/tree" || exit
git init -q .
cat >ARCHITECTURE.md <<'END'
## Files of src/client

    top.c, middle.c
      low.c

## Where

    not_here.c
END

# Each FILE calls what follows it.
checked() { # FILE:CALLED...
    local one name
    for one in "$@"; do
        name=${one%%:*}
        printf 'void hf_%s(void); void hf_%s(void);\nvoid hf_%s(void) { hf_%s(); }\n' \
            "$name" "${one#*:}" "$name" "${one#*:}" >"src/client/$name.c"
        "${CC:-cc}" -c "src/client/$name.c" \
            -o "$W/build/CMakeFiles/hf_rest.dir/src/client/$name.c.o" || exit
    done
    git add .
    HF_BUILD=$W/build capture "$HF_SOURCE/scripts/checks/cycles"
}

checked top:middle middle:low low:elsewhere
is "$code:$out$err" 0: "calls of what is behind in the list pass"

checked low:top
is "$code" 1 "a cycle fails"
for name in top middle low; do
    ok "the report has $name.c" grep -qxF "tsort: $name.c" <<<"$err"
done

checked middle:elsewhere low:middle
is "$code:$err" 1: "a call of what is before it fails without a cycle, too"
is "$out" "low.c must not call middle.c, which is before it in ARCHITECTURE.md" \
    "and is named"

checked middle:low low:elsewhere
mkdir -p src/base src/io cli/run
echo '#include "io/two.h"' >src/base/one.c
echo 'struct two;' >src/base/one.h
echo >src/io/two.h
echo '#include "base/one.h"' >cli/run/one.c
checked low:elsewhere
is "$code:$out$err" 0: "a header with only a declaration ends a cycle"

# No two headers include each other, and no two objects call each other.
echo '# include "base/one.h"' >src/io/two.c
checked low:elsewhere
is "$code:$(sort <<<"$err")" "1:^ these include each other (a C file and its header are one)
tsort: -: input contains a loop:
tsort: src/base/one
tsort: src/io/two" "a cycle through a header and a C file fails, and is named"
rm src/io/two.c

echo '#include "run/one.h"' >cli/one.c
touch cli/one.h cli/run/one.h
echo '#include "one.h"' >>cli/run/one.c
checked low:elsewhere
is "$code" 1 "so does one of cli"
for name in cli/one cli/run/one; do
    ok "the report has $name" grep -qxF "tsort: $name" <<<"$err"
done
rm -r cli

sed -i 's/middle/muddle/' ARCHITECTURE.md
checked low:elsewhere
is "$code:$(sort <<<"$out")" "1:middle.c: is not in the list of ARCHITECTURE.md
muddle.c: is in the list of ARCHITECTURE.md, but no file" "files and list agree"
finish
