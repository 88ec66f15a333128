#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Consul with an older copy of its data: locks that are not in the copy are lost,
# those in it go on.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/consul.sh"
. "$(dirname "$0")/../lib/set_back.sh"

have_consul || skip_all 'no Consul'
# shellcheck disable=SC2034 # set_back.sh's
KIND=consul NODE=c1
set_back_begin
set_back_to_itself
finish
