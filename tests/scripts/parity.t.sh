#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# The check of the stores' README.md finds each kind of difference, between two
# of them and between one and the code.
. "$(dirname "$0")/../lib/tap.sh"

mkdir "$W/tree"
(cd "$HF_SOURCE" && find src/store include tests/skeleton tests/lib tests/conformance \
    scripts/checks -type f -print0 | tar -c --null -T -) | tar -x -C "$W/tree"
cd "$W/tree" || exit
capture scripts/checks/parity
is "$code:$out$err" 0: "the tree as it is passes"

planted() { # FILE SED PATTERN WHAT
    cp "$1" "$W/kept"
    sed -i "$2" "$1"
    ok "$4: it is planted" eval "! cmp -s '$1' '$W/kept'"
    capture scripts/checks/parity
    is "$code" 1 "$4: fails"
    like "$out" "$3" "$4: is named"
    cp "$W/kept" "$1"
}
planted src/store/local/README.md '/| survives/d' '-survives' 'a row less'
planted src/store/local/README.md 's/^| survives |.*/| survives | |/' \
    'local/README.md: without an answer: \| survives' 'no answer'
planted src/store/local/local.c 's/HF_CAP_LIVENESS | //' \
    'local/README.md: `HF_CAP_LIVENESS` is "yes: .*, in the code no' \
    'a capability that the code lacks'
planted src/store/redis/store.c '/\.resume = /d' \
    'redis/README.md: `resume` is "yes: .*, in the code no' \
    'an operation that the code lacks'
planted include/holdfast/outcomes.h 's/HF_CAP_RECORDS = (1 << 4)/HF_CAP_TREES = (1 << 5), &/' \
    '`HF_CAP_TREES` is "", in the code no' 'a capability without a row'
planted tests/conformance/skeleton.t.sh 's/^keeps names .*/keeps names/' \
    'contract names is "lacks .*, in the tests all' \
    'a case that the skeleton no longer lacks'
planted tests/conformance/skeleton.t.sh '/^keeps look/d' \
    'contract look is "all", in the tests not run' 'a part that is not run'
planted tests/lib/contract.sh 's/=(lock loop/=(lock values loop/' \
    'contract values is "", in the tests all' 'a part without a row'
planted tests/conformance/client_quorum.t.sh 's/ONE\[@\]/ONE[0]/' \
    'client_quorum.t.sh does not run CONTRACT_ONE' 'a part that servers skip'
planted tests/skeleton/README.md 's/`verbs.c`/`law.c`/' \
    'skeleton/README.md: no file `law.c`' 'a file that is gone'
mv tests/skeleton/README.md "$W/kept"
capture scripts/checks/parity
is "$code:$out" "1:tests/skeleton/README.md is missing" 'a README less'
finish
