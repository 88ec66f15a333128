#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of constants: a numeric #define without a comment is found, wherever
# it stands, and nothing else is.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/constants
is "$code:$out$err" 0: "the tree as it is passes"

mkdir -p "$W/tree/src/core" "$W/tree/include/holdfast" "$W/tree/cli" \
    "$W/tree/src/store/postgres/schema" "$W/tree/tests/unit"
cd "$W/tree" || exit
git init -q .
cat >src/core/some.c <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
#include "core/some.h"

#define BARE_MS 10

/* In milliseconds: a reason. */
#define EXPLAINED_MS 20
#define SECOND_OF_BLOCK_MS 30

#define AFTER_BLOCK_MS 40
#define IN_ITS_LINE_MS 50 /* milliseconds: a reason */
int x; /* of x alone */
#define AFTER_CODE (1 << 4)

/* Of two lines,
 * with a reason. */
#define LONG_COMMENT INT64_C(0xff)

/* Of another thing. */
static int y;
#define N_THINGS (sizeof(things) / sizeof(things[0]))
#define TEXT "12"
#define COMPUTED (EXPLAINED_MS + SECOND_OF_BLOCK_MS)
#define CALL(argument)                                                         \
    do_it(argument, 1)
#define HALF(argument) ((argument) / 2)
#define BROKEN_LINE                                                            \
    17
#define COMPUTED_WITH (2 * EXPLAINED_MS)
static void put(char out[EXPLAINED_MS], const char *more)
{
    char text[EXPLAINED_MS], numbers[5][sizeof(text)], pair[2], twice[2 * EXPLAINED_MS];
    char month[] = {text[8], text[9]};
    char *words[10];
    unsigned long sizes[10];
}
END
cat >include/holdfast/some.h <<'END'
/* SPDX-License-Identifier: Apache-2.0 */

#define PUBLIC_BARE_MAX 64

/** Explained: a reason. */
#define PUBLIC_MAX 64
END
cat >cli/some.c <<'END'
#define ROOM 4096
#define OPT                                                                    \
    {                                                                          \
        .min = 1                                                               \
    }
static void show(char out[16])
{
    char text[200], which[40] = "";
    char digits[3] = {0};
    unsigned char address[16];
    char rows[ROOM][24];
}
END
cat >tests/unit/some.c <<'END'
#define SEEDS 300
#define STEPS 400 /* requests of a run: a reason */
END
cat >src/store/postgres/schema/12-constants.sql <<'END'
--   FENCE_MAX = 9007199254740991      greatest counter
--   BARE_MAX = 70000
END
cat >src/store/postgres/schema/50-some.sql <<'END'
-- 9007199254740991 in a comment
IF v > FENCE_MAX OR v > 4294967296 OR v > 1000000 THEN -- 77777
    RAISE EXCEPTION USING ERRCODE = '22023', x12345 = 1234, y = 4194304;
END
git add .
capture "$HF_SOURCE/scripts/checks/constants"
is "$code" 1 "a tree with bare constants fails"
is "$(sed -n 's/.*some.[ch]:[0-9]*: \(.*\): write.*/\1/p' <<<"$out" | tr '\n' ' ')" \
    "ROOM PUBLIC_BARE_MAX BARE_MS AFTER_BLOCK_MS AFTER_CODE BROKEN_LINE COMPUTED_WITH SEEDS " \
    "these are the bare ones"
is "$(sed -nE 's/^([a-z/.]*:[0-9]+):.*char .*/\1/p' <<<"$out" | tr '\n' ' ')" \
    "cli/some.c:6 cli/some.c:8 cli/some.c:9 cli/some.c:10 cli/some.c:11 " \
    "and the bare sizes of texts"
like "$out" 'include/holdfast/some\.h:3: PUBLIC_BARE_MAX: write its unit and reason' \
    "with file and line"
schema=src/store/postgres/schema
is "$(grep '\.sql:' <<<"$out")" "$schema/12-constants.sql:2: BARE_MAX: write its unit and reason
$schema/50-some.sql:2: 4294967296: name it in 12-constants.sql
$schema/50-some.sql:3: 4194304: name it in 12-constants.sql" \
    "and the bare numbers of the schema"
finish
