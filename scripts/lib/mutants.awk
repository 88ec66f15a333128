# SPDX-License-Identifier: Apache-2.0
# All mutants of one C or Lua file, one a line:
#
#   FIRST LAST NAME TEXT      (by tabs)
#
# NAME is FILE FUNCTION: CHANGE, where CHANGE quotes the code, `i {< -> <=} n`:
# it holds while lines move and comments change. The second of one name in a
# function ends in #2. TEXT stands for the lines FIRST to LAST, of which there
# are as many in it, with \001 between them; so no line number changes. -v
# lang=c or lua, -v file=FILE. Relies on how the house formats: an operator of
# two operands has blanks around it, a function begins at the left margin.
# Assertions are left alone: to weaken one is seen only with another bug.

function blanks(n,    s) {
    s = ""
    while (n-- > 0) {
        s = s " "
    }
    return s
}

# The line without comments, and with nothing in its strings.
function masked(s,    out, i, c, two, quote) {
    out = ""
    quote = ""
    for (i = 1; i <= length(s); i++) {
        c = substr(s, i, 1)
        two = substr(s, i, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                out = out " "
                i++
            }
            out = out " "
        } else if (quote != "") {
            if (c == "\\") {
                out = out "_"
                i++
                c = "_"
            }
            if (c == quote) {
                quote = ""
                out = out c
            } else {
                out = out "_"
            }
        } else if (c == "\"" || c == "'") {
            quote = c
            out = out c
        } else if (lang == "c" && two == "/*") {
            in_comment = 1
            out = out "  "
            i++
        } else if (two == (lang == "c" ? "//" : "--")) {
            return out blanks(length(s) - i + 1)
        } else {
            out = out c
        }
    }
    return out
}

# One line of `s`, without comments and the blanks of its layout.
function flat(s) {
    gsub(lang == "c" ? "/[*][^\001]*[*]/|/[*][^\001]*" : " -- [^\001]*", "", s)
    gsub(/[ \t\001]+/, " ", s)
    sub(/^ /, "", s)
    sub(/ $/, "", s)
    return s
}

function emit(first, last, change, text,    name) {
    name = file (within == "" ? "" : " " within) ": " flat(change)
    n_named[name]++
    print first "\t" last "\t" name \
        (n_named[name] > 1 ? " #" n_named[name] : "") "\t" text
}

# Put `new` in the place of `n` characters at `at` of line `i`.
function replace(i, at, n, new,    before, old, after) {
    before = substr(L[i], 1, at - 1)
    old = substr(L[i], at, n)
    after = substr(L[i], at + n)
    emit(i, i, before "{" old " -> " new "}" after, before new after)
}

function is_word(c) {
    return c ~ /[A-Za-z0-9_.]/
}

# ---- One token at a time ---------------------------------------------------

function operators(i,    s, at, n, token, before, after) {
    s = M[i] " "
    at = 1
    while (at < length(s)) {
        if (substr(s, at, 1) == " ") {
            at++
            continue
        }
        n = index(substr(s, at), " ") - 1
        token = substr(s, at, n)
        if (token in SWAP) {
            replace(i, at, n, SWAP[token])
        } else if (lang == "c" && match(token, /\+\+|--/)) {
            before = substr(token, RSTART, 2)
            after = before == "++" ? "--" : "++"
            replace(i, at + RSTART - 1, 2, after)
        }
        at += n
    }
}

function constants(i,    s, at, n, digits, new) {
    s = M[i]
    for (at = 1; at <= length(s); at += n) {
        n = 1
        if (is_word(substr(s, at, 1))) {
            match(substr(s, at), /^[A-Za-z0-9_.]+/)
            n = RLENGTH
            digits = substr(s, at, n)
            if (digits == "true" || digits == "false") {
                new = digits == "true" ? "false" : "true"
                replace(i, at, n, new)
            } else if (digits ~ /^[0-9]+[uUlL]*$/) {
                sub(/[uUlL]+$/, "", digits)
                new = digits == "1" ? "0" : sprintf("%.0f", digits + 1)
                replace(i, at, length(digits), new)
            }
        }
    }
}

function negations(i,    s, at) {
    s = M[i]
    for (at = 1; at <= length(s); at++) {
        if (lang == "c" && substr(s, at, 1) == "!" &&
            substr(s, at, 2) != "!=") {
            replace(i, at, 1, "")
        } else if (lang == "lua" && substr(s, at, 4) == "not " &&
                   !is_word(substr(s, at - 1, 1))) {
            replace(i, at, 4, "")
        }
    }
}

# ---- Conditions and statements, of one line or more ------------------------

function depth_of(s, open, shut,    rest) {
    rest = s
    return gsub(open, "", rest) - gsub(shut, "", rest)
}

function span(first, last,    i, text) {
    text = L[first]
    for (i = first + 1; i <= last; i++) {
        text = text "\001" L[i]
    }
    return text
}

# The place where the parenthesis closes that opens at `at` of line `i`: in
# close_line and close_at.
function find_close(i, at,    depth, c) {
    depth = 0
    for (; i <= n_lines; i++) {
        for (; at <= length(M[i]); at++) {
            c = substr(M[i], at, 1)
            depth += c == "(" ? 1 : c == ")" ? -1 : 0
            if (c == ")" && depth == 0) {
                close_line = i
                close_at = at
                return 1
            }
        }
        at = 1
    }
    return 0
}

function negate(i, at, last, end_at,    tail, text, opening, closing) {
    opening = lang == "c" ? "!(" : "not ("
    tail = substr(L[last], 1, end_at - 1) ")" substr(L[last], end_at)
    if (last == i) {
        text = substr(tail, 1, at - 1) opening substr(tail, at)
    } else {
        text = substr(L[i], 1, at - 1) opening substr(L[i], at) "\001"
        if (last > i + 1) {
            text = text span(i + 1, last - 1) "\001"
        }
        text = text tail
    }
    emit(i, last, "negated: " span(i, last), text)
}

function conditions(i,    k, at) {
    if (lang == "c") {
        at = match(M[i], /[^A-Za-z0-9_]if \(/)
        if (at > 0 && find_close(i, at + 4)) {
            negate(i, at + 5, close_line, close_at)
        }
        return
    }
    if (match(M[i], /^ *(else)?if /)) {
        at = RLENGTH + 1
        for (k = i; k <= n_lines; k++) {
            if (match(M[k], / then *$/)) {
                negate(i, at, k, RSTART)
                return
            }
        }
    }
}

function is_statement(s) {
    if (lang == "lua") {
        return s ~ /^ *(return|[A-Za-z_][A-Za-z_.]*(\(| = ))/ &&
            s !~ /^ *(if|elseif|while|for|until|function|local)[ (]/ &&
            s !~ / then *$/
    }
    return s ~ /^ +[A-Za-z_(*]/ && s !~ /[{:]$/ &&
        s !~ /^ +(if|else|for|while|switch|do|case|default|return [^;]*|goto)[ :(]/ &&
        s !~ /^ +return ./ &&
        s !~ /^ +(const|struct|enum|static|unsigned|int|bool|char|size_t|double|void|float|u?int[0-9]+_t) /
}

function is_begun(i,    s) { # a line before it goes on in it
    for (i--; i >= 1; i--) {
        s = M[i]
        sub(/ +$/, "", s)
        if (s != "") {
            if (lang == "c") {
                return s !~ /[;{}:]$/
            }
            return s ~ LUA_GOES_ON
        }
    }
    return 0
}

# The function that line `i` is in, or begins: in `within`.
function enter(i,    head) {
    if (lang == "c" && M[i] ~ /^[A-Za-z_][^;=]*\(/) {
        head = M[i]
        sub(/ *\(.*/, "", head)
        sub(/.*[ *]/, "", head)
        entered = head
    } else if (lang == "lua" &&
               match(M[i], /^(local )?function [A-Za-z_.]+/)) {
        head = substr(M[i], 1, RLENGTH)
        sub(/.* /, "", head)
        within = head
    }
    if (lang == "c" && M[i] ~ /^\{/) {
        within = entered
    }
}

function last_of(i,    depth, s) {
    depth = 0
    for (; i <= n_lines; i++) {
        s = M[i]
        sub(/ +$/, "", s)
        depth += depth_of(s, "[({]", "[)}]")
        if (depth < 0) {
            return 0
        }
        if (depth == 0 &&
            ((lang == "c" && s ~ /;$/) ||
             (lang == "lua" && s !~ LUA_GOES_ON))) {
            return i
        }
    }
    return 0
}

function statements(i,    last, text, k) {
    if (!is_statement(M[i]) || is_begun(i)) {
        return
    }
    last = last_of(i)
    if (last > 0) {
        text = ""
        for (k = i; k < last; k++) {
            text = text "\001"
        }
        emit(i, last, "deleted: " span(i, last), text (lang == "c" ? ";" : ""))
    }
}

BEGIN {
    LUA_GOES_ON = "((^| )(and|or|not|return)|=|,|\\(|[{]|[.][.]|[-+<>*/])$"
    if (lang == "c") {
        n = split("< <= > >= == != && || + - += -=", pair, " ")
    } else {
        n = split("< <= > >= == ~= and or + -", pair, " ")
    }
    for (i = 1; i <= n; i += 2) {
        SWAP[pair[i]] = pair[i + 1]
        SWAP[pair[i + 1]] = pair[i]
    }
}

{
    L[NR] = $0
    M[NR] = masked($0)
    n_lines = NR
}

END {
    asserts = 0
    for (i = 1; i <= n_lines; i++) {
        enter(i)
        asserts = asserts || M[i] ~ /HF_ASSERT\(/
        if (!asserts && M[i] !~ /^#(include|if|end|undef)/) {
            operators(i)
            constants(i)
            negations(i)
            conditions(i)
            statements(i)
        }
        asserts = asserts && M[i] !~ /; *$/
        if (M[i] ~ (lang == "c" ? "^}" : "^end")) {
            within = ""
        }
    }
}
