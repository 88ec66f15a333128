#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# alone
# What the log tells, of a server that stands still. See client_log.c.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/nested.sh"

server_start one
export HF_TEST_URL="${SERVER_URL[one]}?quarantine=off&node_timeout=500ms"
export HF_PID=${SERVER_PID[one]}
nested log "$HF_BUILD/tests/conformance/client_log"

# The command: the story of one lock with -v, each request with -vv.
capture holdfast -u "$HF_TEST_URL" run -v told -- true
like "$err" 'holdfast\[info\]: told: asking .*holdfast\[info\]: told: held, .*told: released' \
    '-v tells the story of one lock'
unlike "$err" 'debug' '-v does not tell each request'
capture holdfast -u "$HF_TEST_URL" run -v -v told -- true
like "$err" 'holdfast\[debug\]: told: acquire to ' '-v -v tells each request'
capture holdfast -u "$HF_TEST_URL" run -vv told -- true
like "$err" 'holdfast\[debug\]: told: release at ' '-vv, too'
capture holdfast -u "$HF_TEST_URL" run --verbose=2 told -- true
like "$err" 'takes no value' '--verbose takes no value'
finish
