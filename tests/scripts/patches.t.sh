#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of planted bugs refuses a patch that would land elsewhere than it
# says, and renews one whose lines only moved.
. "$(dirname "$0")/../lib/tap.sh"

mkdir -p "$W/tree/scripts/checks" "$W/tree/sim/mutants" "$W/tree/src/core"
cp "$HF_SOURCE/scripts/checks/patches" "$W/tree/scripts/checks"
cd "$W/tree" || exit
cat >src/core/some.c <<'END'
#include "some.h"

int first(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++) {
        sum += i;
    }
    return sum;
}

int second(int x)
{
    int sum = 0;
    for (int i = 0; i < x; i++) {
        sum += i;
    }
    return sum;
}
END
cat >sim/mutants/off-by-one.patch <<'END'
Breaks: the first sum has one number too many
Caught by: NONE

--- a/src/core/some.c
+++ b/src/core/some.c
@@ -4,5 +4,5 @@ int first(int x)
 {
     int sum = 0;
-    for (int i = 0; i < x; i++) {
+    for (int i = 0; i <= x; i++) {
         sum += i;
     }
END
cp src/core/some.c "$W/some.c"
cp sim/mutants/off-by-one.patch "$W/kept.patch"
check() {
    capture scripts/checks/patches "$@"
}
check
is "$code:$out$err" 0: "a patch that applies as it says passes"

sed -i '1a /* A line\n * more. */' src/core/some.c
check
is "$code:$out$err" 0: "lines that moved are no reason"

sed -i 's/int sum = 0;/int sum = 0; \/* of all *\//' src/core/some.c
check
is "$code" 1 "another context: fails"
like "$out" 'off-by-one.patch: its context, or the function' "… and is named"
check --renew
is "$code" 0 "it is renewed"
is "$(head -n 3 sim/mutants/off-by-one.patch)" "$(head -n 3 "$W/kept.patch")" \
    "… and keeps its head"
check
is "$code:$out$err" 0: "… and passes"

# Now patch(1) finds the lines in second() only.
cp "$W/some.c" src/core/some.c
cp "$W/kept.patch" sim/mutants/off-by-one.patch
sed -i '3,10s/i < x/i != x/' src/core/some.c
check
is "$code" 1 "another function: fails"
like "$out" '> @@ int second' "… and the function is named"
check --renew
is "$code" 1 "… and is not renewed"
like "$out" 'off-by-one.patch: may plant another bug.*> int second' "… but reported"
ok "… and stays as it was" cmp sim/mutants/off-by-one.patch "$W/kept.patch"
check --renew off-by-one.patch
is "$code:$out$err" 0: "… unless it is named: it was reviewed"
check
is "$code:$out$err" 0: "… and passes"
cp "$W/kept.patch" sim/mutants/off-by-one.patch

# Blocks of one function that are alike: two are between others.
loop='    for (int i = 0; i < x; i++) {
        sum += i;
    }'
cat >src/core/some.c <<END
int first(int x)
{
    int sum = 0;
$loop
$loop
$loop
$loop
    return sum;
}
END
cp sim/mutants/off-by-one.patch "$W/kept.patch"
cat >sim/mutants/off-by-one.patch <<'END'
Breaks: the second loop has one number too many
Caught by: NONE

--- a/src/core/some.c
+++ b/src/core/some.c
@@ -6,5 +6,5 @@ int first(int x)
     }
     for (int i = 0; i < x; i++) {
-        sum += i;
+        sum += i + 1;
     }
     for (int i = 0; i < x; i++) {
END
check
is "$code:$out$err" 0: "one of several such blocks, at its line, passes"
sed -i '1i /* A line. */' src/core/some.c
check
is "$code" 1 "at another line: fails"
like "$out" 'line 7 of src/core/some.c: one of 2 such places in int first' "… and is named"
check --renew
is "$code" 1 "… and is not renewed"
check --renew off-by-one.patch
is "$code:$out$err" 0: "… unless it is named"
check
is "$code:$out$err" 0: "… and passes"
cp "$W/kept.patch" sim/mutants/off-by-one.patch
cp "$W/some.c" src/core/some.c

sed -i 's/i < x/i != x/' src/core/some.c
check
is "$code" 1 "lines that are gone: fails"
like "$out" 'off-by-one.patch does not apply' "… and the patch is named"
rm src/core/some.c
check
is "$code:$out" "1:no src/core/some.c" "a file that is gone: fails"
finish
