#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# Commands: cli/mysql, on a server of MySQL.
export HF_TEST_MYSQL=1
exec "$(dirname "$0")/mysql.t.sh"
