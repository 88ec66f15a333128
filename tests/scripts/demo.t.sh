#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo loses no update with the lock, and reports it otherwise.
# timeout: 180
. "$(dirname "$0")/../lib/tap.sh"

capture "$HF_SOURCE/scripts/demo" 15
is "$code" 0 "the demo succeeds"
like "$out" "killed server s4" "one server is killed"
like "$out" "killed server s5" "and another"
like "$out" "with the lock: +45 added, the counter says 45" "nothing is lost"

# A "lock" that excludes no process: it runs the command after "--".
mkdir "$W/broken"
cat >"$W/broken/holdfast" <<'END'
#!/bin/bash
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    shift
done
[ $# = 0 ] || "${@:2}"
END
chmod +x "$W/broken/holdfast"
HF_BUILD=$W/broken capture "$HF_SOURCE/scripts/demo" 15
is "$code" 1 "with a broken lock it fails"
like "$out" "The lock lost [0-9]+ updates" "and says how many were lost"

# The counter is written atomically: without the lock, only the race between
# read and write may lose updates, and not a read of half a number.
sed -n '/^cat >.*add/,/^END$/{//!p}' "$HF_SOURCE/scripts/demo" >"$W/add"
ok "the demo's worker is there" grep -q '^#!/bin/sh' "$W/add"
echo 41 >"$W/counter"
sh "$W/add" "$W/counter" "$W/log"
is "$(cat "$W/counter")" 42 "it adds one"
(ulimit -f 0 && exec sh "$W/add" "$W/counter" "$W/log") 2>/dev/null
is "$(cat "$W/counter")" 42 "one that cannot write leaves the counter whole"
is "$(wc -l <"$W/log")" 1 "and notes nothing down"
finish
