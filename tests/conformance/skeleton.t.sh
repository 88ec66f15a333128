#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 300
# The store of tests/skeleton: a module that is loaded by its URL, and passes
# the contract of the client except for the capabilities that it declares as
# missing.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/contract.sh"
export HOLDFAST_MODULE_DIR=$HF_BUILD/tests/skeleton

# ---- Loaded by its URL --------------------------------------------------------

# Sets `loaded` to the modules that the dynamic linker opens for a URL.
watch_loading() { # URL
    capture env LD_DEBUG=files LD_DEBUG_OUTPUT="$W/linker" holdfast run -n \
        -u "$1" job -- printf ran
    loaded=$(cat "$W"/linker.* | grep -o 'file=[^ ]*/store-[^ ]*' | sort -u)
    rm -f "$W"/linker.*
}

watch_loading "local://$W/store"
is "$code:$out:$loaded" 0:ran: 'another URL does not load it'
watch_loading skeleton:
is "$code:$out:$loaded" \
    "0:ran:file=$HOLDFAST_MODULE_DIR/store-skeleton.so" 'its URL does'
watch_loading skel:
is "$code:$out:$loaded" "0:ran:file=$HOLDFAST_MODULE_DIR/store-skel.so" \
    'and so does its other scheme'

capture nm -D "$HOLDFAST_MODULE_DIR/store-skeleton.so"
is "$(awk '$NF ~ /^(hf|skeleton)_/ { print $(NF - 1), $NF }' <<<"$out")" \
    'D hf_store_module' 'of ours it exports its table alone, and needs nothing'

# ---- Its URL and its commands -------------------------------------------------

says() { # CODE PATTERN TITLE COMMAND...
    local want=$1 pattern=$2 title=$3
    shift 3
    capture "$@"
    is "$code" "$want" "$title: exit $want"
    like "$err$out" "$pattern" "$title: the reason"
}
says 64 'unknown URL parameter "dc" \(known: prefix, ' 'a parameter of none' \
    holdfast run -n -u 'skeleton:?dc=1' job -- true
says 64 'tls_ca is given, but a skeleton: store is not' 'TLS' \
    holdfast run -n -u 'skeleton:?tls_ca=/ca.crt' job -- true
says 78 'job: in this store a name has one holder' 'a read lock' \
    holdfast run -n --shared -u skeleton: job -- true
says 1 'other processes are not excluded' 'doctor' \
    holdfast doctor -u skeleton:

# ---- The contract -------------------------------------------------------------

KEEPS_URL=skeleton:
keeps async
keeps async_end
keeps break
keeps look
keeps multi_name_deadlock
keeps multi_name_handle
# No sharing, and so no permits.
keeps lock test_shared_is_not_marked
keeps callbacks test_release_of_a_permit_beside_on_state test_close_calls_all
# No queue.
keeps names test_wait_for_one
# It answers before ask() returns: there is no round trip to measure.
keeps loop test_many_in_flight
# A forked child would have a copy of the names, so it is refused.
keeps threads test_fork_with_thread test_fork_without_thread
finish
