# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of holdfast(1) for bash.

# Sets `words` of the caller to the words of the line up to the cursor, and
# `command` to the index in COMP_WORDS of the word after "--", if there is one.
# COMP_WORDS is also split at ":", "=" and "@", which are parts of names and
# URLs: such pieces are joined where the line has no blank between them.
_holdfast_words() {
    local line=${COMP_LINE:0:COMP_POINT} i piece blanks is_open=''
    words=() command=''
    for ((i = 0; i <= COMP_CWORD; i++)); do
        blanks=${line%%[![:blank:]]*}
        line=${line#"$blanks"}
        piece=${COMP_WORDS[i]}
        [ "$i" != "$COMP_CWORD" ] || piece=$line # to the cursor
        line=${line#"$piece"}
        if [[ $i != 0 && -z $blanks && ($is_open || $piece == [:=@]*) ]]; then
            words[${#words[@]} - 1]+=$piece
        else
            words+=("$piece")
            if [[ $piece == -- && $i != "$COMP_CWORD" && -z $command ]]; then
                command=$((i + 1))
            fi
        fi
        [[ $piece == *[!:=@]* ]] && is_open='' || is_open=1
    done
}

# Sets `plain` of the caller to the word as the command would get it. Nothing is
# expanded: that could execute commands.
_holdfast_unquote() { # WORD
    local rest=$1 quote='' char
    plain=''
    while [ -n "$rest" ]; do
        char=${rest:0:1}
        rest=${rest:1}
        if [ "$char" = "$quote" ]; then
            quote=''
        elif [[ -z $quote && $char == [\'\"] ]]; then
            quote=$char
        elif [[ $char == \\ && $quote != \' &&
            (-z $quote || $rest == [\\\"\$\`]*) ]]; then
            plain+=${rest:0:1}
            rest=${rest:1}
        else
            plain+=$char
        fi
    done
}

_holdfast() { # COMMAND, and the piece that the reply replaces
    local i words command word begun plain
    _holdfast_words
    word=${words[${#words[@]} - 1]}
    begun=${word%"$2"}
    if [ -n "$command" ]; then # of run
        if declare -F _command_offset >/dev/null; then
            _command_offset "$command"
        elif [ "$COMP_CWORD" = "$command" ]; then
            mapfile -t COMPREPLY < <(compgen -c -- "$2")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$2")
        fi
        return
    fi
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        _holdfast_unquote "${words[i]}"
        words[i]=$plain
    done
    mapfile -t COMPREPLY < <("$1" complete -- "${words[@]:1}" 2>/dev/null)
    if [ ${#COMPREPLY[@]} = 0 ] && [[ " ${words[*]} " == *' --install '* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word") # guard sqlite
        compopt -o filenames 2>/dev/null
        COMPREPLY=("${COMPREPLY[@]#"$begun"}")
        return 0
    fi
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]=${COMPREPLY[i]#"$begun"}
        [ -z "${COMPREPLY[i]}" ] || printf -v "COMPREPLY[$i]" %q "${COMPREPLY[i]}"
    done
}
complete -o nosort -F _holdfast holdfast
