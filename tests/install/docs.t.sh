#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The code in README.md and docs/ compiles without warnings: each block of C or
# C++ by itself, with declarations for the names that it leaves to the reader.
. "$(dirname "$0")/../lib/tap.sh"

cat >"$W/reader.h" <<'END'
#include <stdbool.h>
#include <stdint.h>
struct hf_lock;
struct job;
struct row {
    int value;
};
extern struct pg_conn *conn;
extern const char *fence_text;
struct vault {
    const char *user, *token;
};
void vault_lock(struct vault *vault);
void vault_unlock(struct vault *vault);
void die(const char *format, ...);
void write_with_fence(uint64_t fence);
void write_row(const struct row *row, uint64_t fence);
void work(void);
void job_begin(struct job *job, struct hf_lock *lock);
void job_failed(struct job *job, const char *why);
void job_stop(struct job *job);
bool job_is_over(struct job *job);
END

# One file for each block; a block of statements is put into a function.
for page in "$HF_SOURCE/README.md" "$HF_SOURCE"/docs/*.md; do
    awk -v base="$W/$(basename "$page" .md)" '
        /^```(c|cpp)$/ { file = sprintf("%s-%02d.%s", base, ++n, substr($0, 4)); next }
        /^```$/ { file = ""; next }
        file { print >file }' "$page"
done

compile() { # FILE
    local flags=(-Wall -Wextra -Wno-unused-function
        -Wno-unused-variable -Werror -fsyntax-only "-I$HF_SOURCE/include"
        -include "$W/reader.h" "-I$(pg_config --includedir)")
    if [[ $1 == *.cpp ]]; then
        g++ -std=c++11 "${flags[@]}" "$1"
        return
    fi
    if ! grep -q '^}' "$1" || ! grep -qE '^(static|void|enum|struct|bool|int) .*\(' "$1"; then
        { grep '^#' "$1"
            echo 'void block(void); void block(void) {'
            grep -v '^#' "$1"
            echo '}'; } >"$1.c"
        set -- "$1.c"
    fi
    gcc -std=c11 -D_POSIX_C_SOURCE=200809L "${flags[@]}" "$1"
}

shopt -s nullglob
blocks=("$W"/*-[0-9][0-9].c "$W"/*-[0-9][0-9].cpp)
for block in "${blocks[@]}"; do
    ok "$(basename "$block") compiles" compile "$block"
done
ok "README.md has code" test -e "$W/README-01.c"
ok "docs/library.md has C and C++" test -e "$W/library-06.c" -a \
    -n "$(echo "$W"/library-*.cpp)"
finish
