#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 400
# The rules of a node: mysql/rules, on a server of MySQL.
export HF_TEST_MYSQL=1
exec "$(dirname "$0")/rules.t.sh"
