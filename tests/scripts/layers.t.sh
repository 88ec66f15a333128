#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of includes finds each kind of violation in a copy of the tree, and
# names the file.
. "$(dirname "$0")/../lib/tap.sh"

mkdir "$W/tree"
cd "$W/tree" || exit
(cd "$HF_SOURCE" &&
    find bench cli examples fuzz include model sim src tests -name node_modules -prune \
        -o -name '*.[ch]' -print0 | tar -c --null -T -) | tar -x
git init -q . && git add .
capture "$HF_SOURCE/scripts/checks/layers"
is "$code:$out$err" 0: "the tree as it is passes"

# FILE gets one more include; the check must report these words.
expected=()
refused() { # FILE INCLUDED WORDS
    printf '#include %s\n' "$2" >>"$1"
    expected+=("$3")
}

must_not() { # FILE PATH
    refused "$1" "\"${2#*/}\"" "$1: ${1%/*} must not see $2"
}

must_not src/core/lease_step.c src/client/lock.h
must_not src/client/op.c src/store/redis/node.h
must_not src/store/local/gate.c src/store/redis/node.h
must_not cli/top/draw.c cli/run/keeper.h
must_not cli/run/keeper.c cli/ls/view.h
must_not cli/ls/view.c cli/cmd.h
must_not cli/out.c cli/ls/view.h
must_not cli/out.c src/client/lock.h
must_not cli/out.c src/base/decimal.h
must_not cli/run/keeper.c src/base/duration.h
must_not sim/world/net.c sim/oracle/state.h
must_not sim/world/workload_calls.c sim/oracle/calls.h
must_not sim/world/world.c sim/oracle/oracle.h
must_not sim/world/net.c sim/hfsim/options.h
must_not sim/local/files.c sim/oracle/calls.h
must_not sim/oracle/once.c sim/hfsim/report.h
must_not sim/redis/hash.c sim/world/world.h
must_not sim/story/draw_story.c sim/world/world.h
must_not sim/svg/svg.c sim/world/world.h
must_not tests/unit/test_url.c sim/world/world.h
must_not tests/conformance/redis_keep.c src/core/lease.h
must_not tests/chaos/judge.c src/core/lease.h
must_not bench/sim_redis.c src/core/lease.h

refused examples/blocking.c '"base/time.h"' \
    'examples/blocking.c: "base/time.h" is no path below examples'
refused sim/redis/hash.c '"blob.h"' \
    'sim/redis/hash.c: "blob.h" is no path below sim, src'
refused src/core/lease_step.c '<stdio.h>' \
    'src/core/lease_step.c: core must not see <stdio.h>'
refused src/client/op.c '<lmdb.h>' \
    'src/client/op.c: src/client must not see <lmdb.h>'
refused src/client/op.c '<holdfast/locks.h>' \
    'src/client/op.c: src/client must not see <holdfast/locks.h>'
refused examples/blocking.c '<holdfast/clients.h>' \
    'examples/blocking.c: examples must not see <holdfast/clients.h>'
refused sim/world/net.c '<lua.h>' \
    'sim/world/net.c: sim/world must not see <lua.h>'

capture "$HF_SOURCE/scripts/checks/layers"
is "$code" 1 "a tree with violations fails"
for line in "${expected[@]}"; do
    ok "$line" grep -qxF -- "$line" <<<"$out"
done
is "$(wc -l <<<"$out")" "${#expected[@]}" "nothing else is refused"

# What core keeps is written by its functions alone: each line alone in FILE. The
# report names a function behind its lines, so each stands once in a check.
expected=()
writes() { # FILE LINE FUNCTION
    echo "$2" >"$1"
    expected+=("$1" "$2" "$3")
}
refuses_them() {
    local i
    capture "$HF_SOURCE/scripts/checks/layers"
    for ((i = 0; i < ${#expected[@]}; i += 3)); do
        set -- "${expected[@]:i:3}"
        is "$(grep -F -A1 -- "$1:1:" <<<"$out")" "$1:1:$2"$'\n'"^ use $3" \
            "$1 must not: $2"
        : >"$1"
    done
    expected=()
}
lease='hf_lease_step()'
writes src/client/op.c 'op->retry.has_reached = true;' 'hf_retry_step()'
writes src/core/lease_step.c 'nodes->misses[node] = 0;' 'hf_nodes_step()'
writes src/core/retry.c 'lease->phase = 0;' $lease
writes sim/hfsim/main.c 'mine->votes[i].said = 0;' $lease
refuses_them
writes src/core/lease_step.c 'retry->attempts++;' 'hf_retry_step()'
writes src/client/op.c 'op->client->nodes.voting |= bit;' 'hf_nodes_step()'
writes src/client/lock.c 'vote->flags <<= 1;' $lease
reads='if (nodes->count == 1 || retry->attempts != 0)'
echo "$reads" >src/client/open.c
refuses_them
unlike "$out" 'open\.c:1:' "reads are free"

# But not those of a lease.
functions='the functions of core/lease.h'
writes src/client/lock.c 'if (hf_lock_lease_const(lock)->phase == 0)' "$functions"
refuses_them
writes sim/oracle/chain.c 'first_ns = lease.round_at.ns;' "$functions"
echo 'if (lease->fence >= c)' >src/core/retry.c
refuses_them
unlike "$out" 'retry\.c:1:' "core reads them"

# A cycle: the report lists its headers.
printf '#include "world/world.h"\n' >>sim/world/observer.h
capture "$HF_SOURCE/scripts/checks/layers"
like "$code:$err" '^1:.*sim/world/observer\.h.*sim/world/world\.h' \
    "a cycle among headers"
printf '#include <holdfast/admin.h>\n' >>include/holdfast/clients.h
capture "$HF_SOURCE/scripts/checks/layers"
like "$code:$err" '^1:.*include/holdfast/admin\.h.*include/holdfast/clients\.h|^1:.*include/holdfast/clients\.h.*include/holdfast/admin\.h' \
    "a cycle among the parts of the public header"
finish
