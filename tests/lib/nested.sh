# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A C test inside a shell test. Source after tap.sh.
#
#   nested TITLE COMMAND [ARG...]  runs it, and passes on each of its cases as
#                                  a case "TITLE: ..."; a crash is a failed one.
#                                  A line "please F" of it calls the function F

nested() {
    local title=$1 line planned='' seen=0 failed=0 code
    shift
    while IFS= read -r line; do
        case $line in
        1..*) planned=${line#1..} ;;
        'ok '*' - '*)
            seen=$((seen + 1))
            pass "$title: ${line#ok * - }"
            ;;
        'not ok '[0-9]*' - '*)
            seen=$((seen + 1)) failed=$((failed + 1))
            fail "$title: ${line#not ok * - }"
            ;;
        'please '*) "${line#please }" || fail "$title: ${line#please }" ;;
        'code '*) code=${line#code } ;;
        *) diag "$line" ;;
        esac
    done < <(
        CMOCKA_MESSAGE_OUTPUT=TAP "$@" 2>&1
        echo "code $?"
    )
    [ "$planned" = "$seen" ] || fail "$title: $seen cases of ${planned:-?}"
    # cmocka's exit code is the number of failed cases; a sanitizer's is not
    [ "$code" = "$failed" ] || fail "$title: ended with $code"
}
