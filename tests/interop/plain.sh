#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Contends for a key with redis-cli alone, as scripts do: SET NX PX, and
# compare-and-delete.
#
#   plain.sh KEY SOCKET SECTION FOLDER
key=$1 socket=$2 section=$3 folder=$4
free="if redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('del', KEYS[1]) else return 0 end"

while [ ! -e "$folder/stop" ]; do
    mine=$$.$RANDOM$RANDOM
    if [ "$(redis-cli -s "$socket" set "$key" $mine nx px 2000)" = OK ]; then
        "$section" "$folder" theirs 5
        [ "$(redis-cli -s "$socket" eval "$free" 1 "$key" $mine)" = 1 ] ||
            echo "plain: release found the key gone" >>"$folder/trouble"
    fi
    sleep 0.0$((RANDOM % 3 + 1))
done
