# SPDX-License-Identifier: Apache-2.0
# Completion of holdfast(1) for fish.

function __holdfast_complete
    set -l words (commandline -opc)
    holdfast complete -- $words[2..-1] (commandline -ct) 2>/dev/null
end

function __holdfast_has_dashes
    contains -- -- (commandline -opc)
end

complete -c holdfast -f -n 'not __holdfast_has_dashes' -a '(__holdfast_complete)'
complete -c holdfast -n __holdfast_has_dashes -F
complete -c holdfast -n 'contains -- --install (commandline -opc)' -F # guard sqlite
