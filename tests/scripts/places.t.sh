#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of places: a map that names a file which is not there, or a function
# that the file does not define, is found.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/places
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core"
cd "$W/tree" || exit
git init -q .
cat >src/core/some.c <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
static bool *here(int x)
{
    return elsewhere(x);
}

void hf_wide_one(void)
{
}
END
cat >src/some.lua <<'END'
local function head(x)
end
END
cat >MAP.md <<'END'
| a | `core/some.c` `here()`, `some.c` `hf_wide_one()`, `so*.lua` `head()` |
| b | `core/some.c` `elsewhere()`; `some.c` `wide_one()` |
| c | `core/other.c`; `re/some.c`; `cmd_NAME.c` is a template |
END
cp MAP.md CHANGELOG.md
git add .
capture "$HF_SOURCE/scripts/checks/places"
is "$code" 1 "a tree with stale places fails"
is "$out" "MAP.md:3: core/other.c does not exist
MAP.md:3: re/some.c does not exist
MAP.md:2: core/some.c does not define elsewhere()
MAP.md:2: some.c does not define wide_one()" "these are the stale ones"
finish
