# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The rows about etcd, Consul and ZooKeeper: one server each. Requests are counted
# by the servers. Source after rows.sh and waiting.sh.

bare_columns=(p50 p99 acq50 rel50 requests client server)
bare_wait_columns=(hand50 hand99 rate wait99 sent client)

# Requests of a grant, which must not grow with the number of waiters. Each waiter
# also sends some by the clock: hence long leases, and half as much again. A number of
# clients that fails is not tried again; the others are measured.
#   herd STORE URL COUNT
herd() {
    local store=$1 url=$2 count=$3 n i measured=() status=0
    title "one $store, N clients, hold 1 ms, no rest: requests per grant"
    for n in $herd_clients; do
        for ((i = 1; i <= fair_rounds; i++)); do
            figure "n$n" "$i" "$bin/queue" --url "$url?node_timeout=3s" \
                --ttl 60000 --clients "$n" --rest 0 --count "$count" \
                --warm $((1 + n / 50)) --seconds $((1 + n / 50)) || break
        done
        if [ "$i" -gt "$fair_rounds" ]; then
            measured+=("$n")
        else
            status=1
        fi
    done
    for n in "${measured[@]}"; do
        table "n$n" sent hand50 rate client
    done
    [ ${#measured[@]} -lt 2 ] ||
        check_ratio sent "n${measured[-1]}" "n${measured[0]}" le 1.5
    return $status
}

# Whole commands: another tool's, and ours.
#   cli_beside STORE URL TARGET LABEL COMMAND...
cli_beside() {
    local store=$1 url=$2 target=$3 label=$4 i side
    shift 4
    title "whole commands on $store: wall us, CPU us, largest resident set"
    for ((i = 1; i <= rounds; i++)); do
        "$bin/spawn" --count $((cli_count / rounds)) -- "$label" "$@" ::: \
            ours holdfast run -u "$url" x -- true >"$W/spawn" 2>"$W/err" || {
            echo "  $(tail -n 1 "$W/err")"
            return 1
        }
        for side in "$label" ours; do
            figure "$side" "$i" grep "job=$side " "$W/spawn"
        done
    done
    for side in "$label" ours; do
        table "$side" p50 p99 cpu rss_kb failed
    done
    check_ratio p50 ours "$label" le "$target"
}

# One caller: the recipe's minimum, the library's requests by a bare client, ours.
#   one_beside STORE URL PID COUNT REQUESTS COMMAND...
# REQUESTS: those of the library a cycle, and what the clock asks for.
one_beside() {
    local store=$1 url=$2 pid=$3 count=$4 requests=$5 i side
    shift 5
    title "one $store, one caller: acquire and release, us"
    for ((i = 1; i <= rounds; i++)); do
        for side in minimum all; do
            figure $side "$i" "$@" --requests $side --seconds "$seconds" \
                --pids "$pid" --count "$count" || return 1
        done
        figure ours "$i" "$bin/ours" --url "$url" --seconds "$seconds" \
            --pids "$pid" --count "$count" || return 1
    done
    for side in minimum all ours; do
        table $side "${bare_columns[@]}"
    done
    check_ratio p50 ours all le 1.15
    check_value requests ours le "$requests"
    note_ratio p50 ours minimum
}

# Ten clients: a bare watch, the same with a read after it, and ours.
#   handover_beside STORE URL COUNT COMMAND...
handover_beside() {
    local store=$1 url=$2 count=$3 i side
    shift 3
    title "one $store, ten clients, hold 1 ms, rest 10 ms: hand-over, us"
    for ((i = 1; i <= wait_rounds; i++)); do
        figure wake "$i" "$@" --seconds "$crowd_seconds" --count "$count" ||
            return 1
        figure read "$i" "$@" --read 1 --seconds "$crowd_seconds" \
            --count "$count" || return 1
        figure ours "$i" crowd_ours --url "$url" --count "$count" || return 1
    done
    for side in wake read ours; do
        table $side "${bare_wait_columns[@]}"
    done
    check_ratio hand50 ours wake le 1.2
    note_ratio hand50 ours read
}

# ---- etcd --------------------------------------------------------------------

need_etcd() {
    [ -z "${ETCD_PID[e1]:-}" ] || return 0
    etcd_start || return 1
    etcd_address=127.0.0.1:${ETCD_PORT[e1]}
    etcd_count="curl -s --noproxy '*' http://$etcd_address/metrics |
        awk '/^grpc_server_started_total/ { n += \$2 } END { print n }'"
}

row_etcd() {
    need_etcd && one_beside etcd "$ETCD_URL" "${ETCD_PID[e1]}" "$etcd_count" \
        3.1 "$bin/http_raw" --store etcd --address "$etcd_address"
}

row_cli_etcd() {
    need_etcd && cli_beside etcd "$ETCD_URL" 0.5 etcdctl env ETCDCTL_API=3 \
        etcdctl --endpoints "http://$etcd_address" lock x true
}

row_handover_etcd() {
    need_etcd && handover_beside etcd "$ETCD_URL" "$etcd_count" \
        "$bin/http_wake" --store etcd --address "$etcd_address"
}

row_herd_etcd() {
    need_etcd && herd etcd "$ETCD_URL" "$etcd_count"
}

row_hold_etcd() {
    need_etcd || return 1
    title "$etcd_locks leases of 10 s, held and renewed by one client of etcd"
    figure one 1 "$bin/hold" --url "$ETCD_URL" --locks "$etcd_locks" \
        --ttl 10000 --seconds "$hold_seconds" --nodes 1 \
        --pids "${ETCD_PID[e1]}" --count "$etcd_count" || return 1
    table one per_third core_percent bytes rss_mb lost
    check_value per_third one le $((1 + (etcd_locks + 127) / 128))
    check_value core_percent one le 2
    check_value lost one le 0
}

# ---- Consul ------------------------------------------------------------------

# A client that waits has two connections, and all of them one address: Consul's default,
# 200, ends with 100 clients.
need_consul() {
    [ -z "${CONSUL_PID[c1]:-}" ] || return 0
    consul_start -- -hcl 'telemetry { prometheus_retention_time = "1h" }
        limits { http_max_conns_per_client = 2000 }' || return 1
    consul_bare=127.0.0.1:${CONSUL_PORT[c1]}
    consul_count="curl -s --noproxy '*' \
        'http://$consul_bare/v1/agent/metrics?format=prometheus' |
        awk '/^consul_http_.*_count/ { n += \$2 } END { print n }'"
}

row_consul() {
    need_consul && one_beside Consul "$CONSUL_URL" "${CONSUL_PID[c1]}" \
        "$consul_count" 4.1 "$bin/http_raw" --store consul \
        --address "$consul_bare"
}

row_cli_consul() {
    need_consul && cli_beside Consul "$CONSUL_URL" 0.3 consul env \
        "CONSUL_HTTP_ADDR=http://$consul_bare" consul lock x true
}

row_handover_consul() {
    need_consul && handover_beside Consul "$CONSUL_URL" "$consul_count" \
        "$bin/http_wake" --store consul --address "$consul_bare"
}

row_herd_consul() {
    need_consul && herd Consul "$CONSUL_URL" "$consul_count"
}

# ---- ZooKeeper ---------------------------------------------------------------

# By default ticks have 2 s; short ones would shorten sessions of 15 s.
need_zookeeper() {
    [ -z "${ZOOKEEPER_PID[z1]:-}" ] || return 0
    zookeeper_start || return 1
    zookeeper_bare=127.0.0.1:${ZOOKEEPER_PORT[z1]}
    zookeeper_count="exec 9<>/dev/tcp/127.0.0.1/${ZOOKEEPER_PORT[z1]} &&
        printf mntr >&9 && sed -n \"s/^zk_packets_received[^0-9]*//p\" <&9"
    zookeeper_count="bash -c '$zookeeper_count'"
}

row_zookeeper() {
    need_zookeeper && one_beside ZooKeeper "$ZOOKEEPER_URL" \
        "${ZOOKEEPER_PID[z1]}" "$zookeeper_count" 5.2 "$bin/zookeeper_raw" \
        --address "$zookeeper_bare"
}

row_handover_zookeeper() {
    need_zookeeper && handover_beside ZooKeeper "$ZOOKEEPER_URL" \
        "$zookeeper_count" "$bin/zookeeper_wake" --address "$zookeeper_bare"
}

row_herd_zookeeper() {
    need_zookeeper && herd ZooKeeper "$ZOOKEEPER_URL" "$zookeeper_count"
}
