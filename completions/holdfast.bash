# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Completion of holdfast(1) for bash.

_holdfast() {
    local i word=${COMP_WORDS[COMP_CWORD]}
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [ "${COMP_WORDS[i]}" = -- ]; then # the command of run
            if declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif [ "$COMP_CWORD" = $((i + 1)) ]; then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
            return
        fi
    done
    mapfile -t COMPREPLY < <("$1" complete -- \
        "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    if [ ${#COMPREPLY[@]} = 0 ] && [[ " ${COMP_WORDS[*]} " == *' --install '* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word") # guard sqlite
        compopt -o filenames 2>/dev/null
        return 0
    fi
    for i in "${!COMPREPLY[@]}"; do
        printf -v "COMPREPLY[$i]" %q "${COMPREPLY[i]}"
    done
}
complete -o nosort -F _holdfast holdfast
