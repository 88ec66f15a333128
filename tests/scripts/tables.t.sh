#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The check of tables of functions finds an initialiser that does not name the
# members, and a type of a function, or a pointer to one, without a comment.
. "$(dirname "$0")/../lib/tap.sh"

cd "$HF_SOURCE" || exit
capture scripts/checks/tables
is "$code:$out$err" 0: "the tree as it is passes"

mkdir "$W/tree" || exit
git ls-files -z 'src/*.h' | xargs -0 cp --parents -t "$W/tree" || exit
cd "$W/tree" || exit
git init -q .
cat >src/io/some.c <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
#include "io/http.h"

static const struct hf_http_events named = {
    .opened = on_opened,
};
static const struct hf_http_events named_at_once = {.opened = on_opened};
static const struct hf_http_events empty = {0};
static const struct hf_http_events *const several[] = {&named, NULL};
static const struct hf_http_events in_place = {on_opened, on_piece};
static const struct hf_http_events below = {
    on_opened, on_piece};
static struct hf_timer one_function = {HF_NEVER, on_timer, NULL};

typedef void bare_fn(int a);

/* It must not wait. */
typedef void told_fn(int a);
typedef bool
long_bare_fn(struct hf_http *http);

/** It must not wait.
 * @return false: no memory; retry. */
typedef bool
long_told_fn(struct hf_http *http);

struct some {
    void (*bare)(int a);
    /* It must not wait. */
    void (*told)(int a);
    void (*told_behind)(int a); /* or NULL */
};

void takes(void (*parameter)(int a));

static void compound(void)
{
    take(&(struct hf_http_events){on_opened});
    take(&(struct hf_http_events){.opened = on_opened});
}
END
git add .
capture "$HF_SOURCE/scripts/checks/tables"
is "$code:$(tr '\n' ' ' <<<"$out")$err" \
    "1:$(printf 'src/io/some.c:%s ' \
        '10: the members of struct hf_http_events are set without their names' \
        '12: the members of struct hf_http_events are set without their names' \
        '15: a type of a function without a comment' \
        '20: a type of a function without a comment' \
        '28: a pointer to a function without a comment' \
        '38: the members of struct hf_http_events are set without their names')" \
    "what is planted is named, and nothing else"
finish
