#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The log of a server that is stopped. See client_log.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

server_start one
export HF_TEST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=500ms"
export HF_PID=${SERVER_PID[one]}
nested log "$HF_BUILD/tests/conformance/client_log"

# The command: -v logs the events of a lock, -vv each request.
capture holdfast -u "$HF_TEST_URL" run -v told -- true
like "$err" 'holdfast\[info\]: told: asking .*holdfast\[info\]: told: held, .*told: released' \
    '-v logs the events of one lock'
unlike "$err" 'debug' '-v does not log each request'
capture holdfast -u "$HF_TEST_URL" run -v -v told -- true
like "$err" 'holdfast\[debug\]: told: acquire to ' '-v -v logs each request'
capture holdfast -u "$HF_TEST_URL" run -vv told -- true
like "$err" 'holdfast\[debug\]: told: release at ' '-vv, too'
capture holdfast -u "$HF_TEST_URL" run --verbose=2 told -- true
like "$err" 'takes no value' '--verbose takes no value'

# An outage: its reason once, and not for each retry.
dead=redis://127.0.0.1:$(free_port),127.0.0.1:$(free_port)
server_start two
dead+=" ${SERVER_URL[two]}?quarantine=off&node_timeout=500ms"
capture holdfast -u "$dead" run -v -w 3 out -- true
is "$code" 69 'two of three servers dead'
told=$(grep -c 'info.: out: no majority: .*; try [0-9]* in' <<<"$err")
ok "-v tells why it tries again, not each time ($told lines)" \
    test "$told" -ge 1 -a "$told" -le 3
unlike "$err" debug 'and no retry besides'
capture holdfast -u "$dead" run -vv -w 3 out -- true
told=$(grep -cE '(info|debug).: out: no majority: .*; try [0-9]+ in' <<<"$err")
ok "-vv tells each try ($told lines)" test "$told" -gt 6
finish
