# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# An interactive bash at a terminal (tests/lib/pty.c), in $W. Source after tap.sh.
#
#   rows <<'X'   cases: a table of what is typed and expected, see step()
#   ./talk       prints the signals it gets, and what it reads (tests/lib/talk.c)
#   ./ask        a command that asks for a name
#   ./at MOMENT COMMAND...  a key is typed at this moment (tests/lib/keys_shim.c);
#                not for a program with a sanitizer

pty=$HF_BUILD/tests/lib/pty
cd "$W" || exit 1

ln -s "$HF_BUILD/tests/lib/talk" talk

# A command that reads from the terminal, and is stopped in the background.
printf '#!/bin/sh\necho "nam""e?"; read x; echo "hello-$x"\n' >"$W/ask"
chmod +x "$W/ask"

# shellcheck disable=SC2016
printf '#!/bin/sh\nKEYSHIM=$1 LD_PRELOAD=%s\nexport KEYSHIM LD_PRELOAD\nshift\nexec "$@"\n' \
    "$HF_BUILD/tests/lib/keys_shim.so" >"$W/at"
chmod +x "$W/at"

# The steps of a row. A prompt is [CODE]PS>, with the last exit code.
#   $ LINE     type the line        Z [CODE]   Ctrl-Z: stopped; the prompt
#   > TEXT     wait for it          C [CODE]   Ctrl-C: the prompt
#   ~ REGEX    wait for a match     ? [CODE]   wait for the prompt
#   talk       ./talk begins        fg         it goes on, and hears us
#   Jane       ./ask goes on, hears us and ends
# After "$ " a step has the whole line; else "; " is between two. Any other is a
# step of pty.
step() { # STEP: prints it as pty reads it
    local is=${1%% *} arg=${1#* }
    [ "$arg" != "$1" ] || arg=
    case $is in
    '$') echo "send $arg\\n" ;;
    '>') echo "expect $arg" ;;
    '~') echo "like $arg" ;;
    '?') echo "expect ${arg}PS>" ;;
    Z) printf '%s\n' 'send \x1a' 'expect Stopped' "expect ${arg}PS>" ;;
    C) printf '%s\n' 'send \x03' "expect ${arg}PS>" ;;
    talk) printf '%s\n' 'send holdfast run job -- ./talk\n' 'expect ready-now' ;;
    fg) printf '%s\n' 'send fg\n' 'send again\n' 'expect heard-CONT' 'expect got-again' ;;
    Jane) printf '%s\n' 'send fg\n' 'send Jane\n' 'expect hello-Jane' 'expect [0]PS>' ;;
    *) echo "$1" ;;
    esac
}

# In an interactive bash. Input is echoed, so commands print words that
# were not typed whole.
run_row() { # TITLE STEP...
    local step
    {
        # shellcheck disable=SC2016
        printf 'expect $\nsend PS1="[\\\\$?]PS>"\\n\nexpect [0]PS>\n'
        for step in "${@:2}"; do
            step "$step"
        done
    } >script
    ok "$1" "$pty" env PS1='$' bash --norc --noprofile -i <script
}

# A table: the title of a row, at the left margin, and its steps, indented.
rows() { # table on stdin
    local line row=()
    while IFS= read -r line; do
        if [[ $line != ' '* ]]; then
            [ ${#row[@]} = 0 ] || run_row "${row[@]}"
            row=("$line")
        elif [[ $line == '    $ '* ]]; then
            row+=("${line:4}")
        else
            line=${line:4}
            while [[ $line == *'; '* ]]; do
                row+=("${line%%; *}")
                line=${line#*; }
            done
            row+=("$line")
        fi
    done
    run_row "${row[@]}"
}
