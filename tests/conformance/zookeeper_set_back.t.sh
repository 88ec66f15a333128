#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ZooKeeper with an older copy of its data refuses the sessions of clients that have
# seen newer ones, until it has as many transactions: a lock that is not in the copy
# is lost, and the message has the reason.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/zookeeper.sh"
. "$(dirname "$0")/../lib/set_back.sh"

have_zookeeper || skip_all 'no ZooKeeper'
# shellcheck disable=SC2034 # set_back.sh's
KIND=zookeeper NODE=z1
set_back_begin
set_back
# shellcheck disable=SC2154 # set_back.sh's
ends_lost new "$new"
like "$(cat "$W/err.new")" 'refuses a session .*older' '... with the reason'
gives 0 '... which is free' run -n new -- true
finish
