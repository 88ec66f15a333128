#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# timeout: 600
# Commands on a PostgreSQL server: its URL, the schema, rights, and each command.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/servers.sh"
. "$(dirname "$0")/../lib/again.sh"
. "$(dirname "$0")/../lib/holders.sh"
. "$(dirname "$0")/../lib/killed.sh"
. "$(dirname "$0")/../lib/users.sh"

says() { # CODE PATTERN TITLE COMMAND...
    local want=$1 pattern=$2 title=$3
    shift 3
    capture timeout 60 "$@"
    is "$code" "$want" "$title: exit $want"
    like "$err$out" "$pattern" "$title: the message"
}

# ---- The URL -------------------------------------------------------------------

refuses() { # CODE PATTERN TITLE URL
    says "$1" "$2" "$3" holdfast run -n -u "$4" job -- echo ran
    unlike "$err$out" 'secret|^ran' "$3: no password is shown, and nothing runs"
}
h='postgres://postgres@/postgres?host=/nowhere'
refuses 64 'pooler": a pooler is recognised without it' 'pooler=' "$h&pooler=transaction"
refuses 64 'lock": "rows" is not "advisory"' 'another lock=' "$h&lock=rows"
refuses 64 'key": .* add lock=advisory' 'key=' "$h&key=1"
refuses 78 'the port of a server is 1 to 65535, not "99999"' 'a port' 'postgres://u@h:99999/d'
refuses 64 'several hosts' 'several hosts' 'postgres://u@a,b/d'
refuses 64 'did you mean "sslmode"' 'a misspelt parameter' "$h&sslmod=secret"
refuses 64 'sslrootcert' 'our TLS parameters' "$h&tls_ca=/ca.crt"
refuses 64 'write postgres://USER@HOST' 'a password with @' 'postgres://u:a@secret@h/d'
refuses 64 'write postgres://USER@HOST' 'a password with /' 'postgres://u:1/secret@h/d'
refuses 69 'No such file' 'no server' 'postgres://u:secret@/d?host=/nowhere'
refuses 69 '127.0.0.1:1 Connection refused' 'no server over TCP' \
    'postgres://u:secret@127.0.0.1:1/d'
refuses 78 'definition of service "none" not found' 'a service that is not defined' \
    "$h&service=none"
capture ldd "$HF_BUILD/holdfast"
unlike "$out" 'libpq|libssl' 'the command is not linked with libpq'

# ---- The schema, made at first use by a role that may ----------------------------

postgres_start
# Its socket, which this user may not open.
chmod 755 "$W" "$PGHOST"
chmod 0 "$PGHOST/.s.PGSQL.5432"
says 77 'no permission for the socket; add the user to its group' \
    'no right to the socket' "${as_other[@]}" holdfast run -n \
    --on-unreachable run -u "${h/\/nowhere/$PGHOST}" job -- echo ran
chmod 777 "$PGHOST/.s.PGSQL.5432"
export HOLDFAST_URL="postgres://postgres@/postgres?host=$PGHOST&node_timeout=3s&connect_timeout=10s"
app=${HOLDFAST_URL/postgres@/app@}
pg -c "CREATE ROLE app LOGIN"
refuses 77 'role "none" does not exist' 'no such role' "${HOLDFAST_URL/postgres@/none@}"
refuses 78 'database "none" does not exist' 'no such database' \
    "${HOLDFAST_URL/\/postgres\?/\/none?}"
refuses 78 'no schema "holdfast" in database postgres, and role "app" may not create it: run holdfast doctor --init' \
    'a role that may not create the schema' "$app"
session_open other
install_lock=$(sed -nE 's/.*pg_advisory_xact_lock\(([0-9]+)[^,]*, 0\).*/\1/p' \
    < <(holdfast doctor --print-schema -u postgres:))
session_do other "SELECT pg_advisory_lock($install_lock, 0)"
says 69 'its schema is being made: wait longer, or run holdfast doctor --init' \
    'a try that ends before the schema is there' holdfast run -n job -- true
session_do other 'SELECT pg_advisory_unlock_all()'
wait=0
does_not_count() { # as the message says: each try waits longer than the last
    capture holdfast run -w "$wait" job -- echo ran
    wait=$((wait * 2 + 1))
    [[ $code = 69 && $err = *' counts in '*' s' && $out = '' &&
        ($err = *'shows no trace of Holdfast'* || $err = *'is being watched'*) ]]
}
ok 'a schema that was made just now does not count' wait_until 30 does_not_count
ok 'the first use has made the schema' pg_is "to_regnamespace('holdfast') IS NOT NULL"
says 0 'counts' 'doctor --init' holdfast doctor --init
says 0 '' 'the server counts' holdfast run -n job -- true
says 77 'permission denied .*GRANT USAGE ON SCHEMA holdfast TO "app"' 'a role without rights' \
    holdfast run -n -u "$app" job -- true
pg -c 'GRANT USAGE ON SCHEMA holdfast TO app'
says 0 'ran' 'a role with the one right that it needs' \
    holdfast run -n -u "$app" job -- echo ran
says 1 'PostgreSQL 1[2-9].*role app.*commits may be lost.*fit for locks' 'doctor, on fsync=off' \
    holdfast doctor -u "$app"
# What is proposed can be typed, whatever the length of the names.
long=$(printf '%063d' 0)
for name in d r; do
    printf -v "long_$name" %s "$name${long:1}"
done
pg -c "CREATE ROLE $long_r LOGIN" -c "CREATE DATABASE $long_d"
long_url="postgres://$long_r@/$long_d?${HOLDFAST_URL#*\?}"
refuses 78 "in database $long_d, and role \"$long_r\" may not create it" \
    'long names of a role and a database' "$long_url"
holdfast doctor --init -u "${long_url/$long_r@/postgres@}" >/dev/null 2>&1
refuses 77 "; in $long_d: GRANT USAGE ON SCHEMA holdfast TO \"$long_r\"\$" \
    'a right of a role with a long name' "$long_url"
pg -d "$long_d" -c "${err#*"$long_d: "}"
says 0 ran '... is given as proposed' holdfast run -n -u "$long_url" job -- echo ran
holdfast run -t 3s -u "$app" kept -- sleep 60 2>"$W/err.kept" &
holder=$!
ok 'a holder whose rights are taken' wait_until 10 holdfast ls -q kept
pg -c 'REVOKE USAGE ON SCHEMA holdfast FROM app'
wait "$holder"
is $? 76 '... is ended: exit 76'
like "$(cat "$W/err.kept")" \
    'kept: the lock could not be kept \(.*permission denied.*\); the command was ended' \
    '... with the reason'
pg -c 'GRANT USAGE ON SCHEMA holdfast TO app'
pg -c 'ALTER ROLE app CONNECTION LIMIT 0'
says 69 'too many connections for role "app"' 'a limit that passes is no refusal' \
    holdfast run -n -u "$app" job -- true
pg -c 'ALTER ROLE app CONNECTION LIMIT -1'
pg -c 'CREATE DATABASE strict'
pg -d strict -c 'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC'
holdfast doctor --init -u "${HOLDFAST_URL/@\/postgres/@\/strict}" >/dev/null 2>&1
pg -d strict -c 'GRANT USAGE ON SCHEMA holdfast TO app'
says 0 'ran' 'nor more, whatever the default privileges' \
    holdfast run -n -u "${app/@\/postgres/@\/strict}" job -- echo ran
# Each look at this clock takes 3 s, as on a loaded server.
pg -d strict -c 'CREATE SEQUENCE public.looks' \
    -c "CREATE OR REPLACE FUNCTION holdfast.clock() RETURNS bigint LANGUAGE sql AS
        \$\$ SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint
            + 3000000 * nextval('public.looks') \$\$"
says 1 '1 of 1 server counts' 'doctor, on a slow server' \
    holdfast doctor -u "${HOLDFAST_URL/@\/postgres/@\/strict}"
pg -c "ALTER ROLE app SET default_transaction_isolation = serializable;
    ALTER ROLE app SET client_min_messages = error"
says 0 'ran' "a role's settings are replaced" holdfast run -n -u "$app" job -- echo ran
pg -c "ALTER ROLE app SET default_transaction_read_only = on"
says 78 'read-only for role "app"' 'a role that may only read' \
    holdfast run -n -u "$app" job -- true
says 78 'max_ttl=1m, this client says 2m' 'another max_ttl' \
    holdfast run -n -u "$HOLDFAST_URL&max_ttl=2m" job -- true

# ---- Each command ----------------------------------------------------------------

token=$(holdfast acquire --ttl 60 job | cut -d ' ' -f 1)
like "$token" '@[0-9]+/60000$' 'acquire prints a token'
says 75 'held by' 'another process is refused' holdfast run -n job -- true
says 0 '' 'extend in a third process' holdfast extend job --owner "$token"
capture holdfast ls
like "$out" 'job +exclusive' 'ls has the name'
holdfast run job -- sh -c 'echo "$HOLDFAST_FENCE"' >"$W/waiter" &
waiter=$!
wait_until 10 pg_is "EXISTS (SELECT FROM holdfast.waiter)"
capture holdfast ls job
like "$out" '1 waiting' 'ls NAME counts the waiter'
like "$out" '1\. .*waiting since' 'and names it'
if [ -x "$HF_BUILD/holdfast-top" ]; then
    printf 'drawn 1 name\ndrawn exclusive\nsend q\n' >"$W/script"
    ok 'top has the name' env TERM=xterm timeout 60 "$HF_BUILD/tests/lib/pty" \
        holdfast top <"$W/script"
fi
# The server pushes the grant: without that the waiter's next heartbeat, after
# up to 2 s, would find it.
wait_until 10 pg_is "EXISTS (SELECT FROM holdfast.waiter WHERE channel <> '')"
start=$(now_ms)
says 0 '' 'release' holdfast release job --owner "$token"
wait $waiter
is $? 0 'the waiter is granted the lock'
took=$(($(now_ms) - start))
ok "a grant is pushed: $took ms" test $took -lt 1800
fence=${token##*@}
ok 'the fence increases' test "$(cat "$W/waiter")" -gt "${fence%/*}"

are_deaf() { # all but one
    pg_is "(SELECT count(*) FROM holdfast.waiter
        WHERE name = 'lock:killed' AND holdfast.is_heard(channel)) = 1"
}
killed_begin are_deaf -t 60s
killed_end 5000 # at once; their places would have 6 s

holdfast acquire --ttl 60 job >"$W/token"
says 0 'was taken from' 'break --now' holdfast break --now job
says 0 'ran' 'the name is free' holdfast run -n job -- echo ran

shared=$(holdfast acquire --ttl 60 --shared book | cut -d ' ' -f 1)
says 0 'ran' 'two readers share' holdfast run -n --shared book -- echo ran
says 75 'held' 'a writer waits for them' holdfast run -n book -- true
holdfast release book --owner "$shared" >/dev/null
says 0 'ran' 'a writer after them' holdfast run -n book -- echo ran

permits=()
for i in 1 2; do
    holdfast run -p 2 slots -- sleep 60 &
    permits+=($!)
done
end_permits() {
    kill "${permits[@]}" 2>/dev/null
    wait "${permits[@]}"
}
at_exit end_permits
both_run() {
    pg_is "(SELECT count(*) FROM holdfast.sharer WHERE name = 'lock:slots') = 2"
}
ok 'two permits' wait_until 10 both_run
says 75 'held' 'a third permit of two' holdfast run -n -p 2 slots -- true
kill "${permits[0]}"
wait "${permits[0]}"
says 0 'ran' 'the permit that was returned' holdfast run -n -p 2 slots -- echo ran

says 0 'ran' 'once' holdfast run --once 1h nightly -- echo ran
says 0 '' 'once, again' holdfast run --once 1h nightly -- echo ran
unlike "$out" ran 'once, again: it does not run'
runs_again
says 0 'ran' 'min-hold' holdfast run -n --min-hold 30s kept -- echo ran
says 75 'kept' 'min-hold keeps the name' holdfast run -n kept -- true
says 0 'ran' 'several names' holdfast run -n a b c -- echo ran
says 0 '[0-9]{16}' 'a value' holdfast put config on

# ---- Pages of names ----------------------------------------------------------------

# As an application would: inside one transaction.
pg -c "SELECT count(holdfast.acquire(convert_to('lock:many' || i, 'UTF8'), 'psql', 60000, 0))
    FROM generate_series(1, 2500) AS i" >/dev/null
capture holdfast ls 'many*'
is "$(grep -c '^many' <<<"$out")" 2500 'ls reads every page'
capture holdfast ls 'many12?'
is "$(grep -c '^many' <<<"$out")" 10 'ls with a pattern'

# ---- Idle names ------------------------------------------------------------------------

pg -c "INSERT INTO holdfast.lock (name)
    SELECT convert_to('idle' || i, 'UTF8') FROM generate_series(1, 50) AS i"
# As a client does, each alone: a new row deletes idle names on one page, drawn at
# random, of some two hundred. All of them miss two pages in one of 10^6 runs.
pg -c "SELECT count(holdfast.acquire(convert_to('lock:sweep' || i, 'UTF8'), 'psql', 60000, 0,
        alone => true))
    FROM generate_series(1, 3000) AS i" >/dev/null
ok 'acquisitions delete idle names' pg_is \
    "NOT EXISTS (SELECT FROM holdfast.lock WHERE name BETWEEN 'idle' AND 'idlf')"
ok 'and no name that is held' pg_is \
    "(SELECT count(*) FROM holdfast.lock WHERE owner IS NOT NULL) >= 5500"

# ---- Passwords, services, TLS -----------------------------------------------------------

sed -i '1i local all keeper scram-sha-256\nhost all keeper 127.0.0.1/32 scram-sha-256' \
    "$PGHOST/data/pg_hba.conf"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$PGHOST/data/server.key" \
    -out "$PGHOST/data/server.crt" 2>"$W/openssl.log"
chmod 600 "$PGHOST/data/server.key"
[ "$(id -u)" != 0 ] || chown postgres:postgres "$PGHOST"/data/server.*
cp "$PGHOST/data/server.crt" "$W/ca.crt"
pg -c "CREATE ROLE keeper LOGIN PASSWORD 'se/cret@1'" -c 'GRANT USAGE ON SCHEMA holdfast TO keeper'
postgres_crash
port=$(free_port)
PGPORT=$port postgres_restart -c listen_addresses=127.0.0.1 -c "port=$port" \
    -c ssl=on -c ssl_cert_file=server.crt -c ssl_key_file=server.key
PGPORT=$port capture timeout 60 holdfast doctor --init --force -u "$HOLDFAST_URL&port=$port"
is "$code" 0 'the server counts again, without fsync'
tcp="localhost:$port/postgres?node_timeout=3s&connect_timeout=10s&sslmode=verify-full&sslrootcert=$W/ca.crt"
says 0 ran 'TLS, a host name and a password in the URL' \
    holdfast run -n -u "postgres://keeper:se%2Fcret%401@$tcp" job -- echo ran
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other \
    -keyout "$W/other.key" -out "$W/other.crt" 2>"$W/openssl.log"
says 78 'certificate verify failed' 'another CA' holdfast run -n \
    -u "postgres://keeper:x@${tcp/$W\/ca.crt/$W/other.crt}" job -- true
says 78 'root certificate file ".*" does not exist' 'no CA' holdfast run -n \
    -u "postgres://keeper:x@${tcp/$W\/ca.crt/$W/none.crt}" job -- true
says 77 'password authentication failed' 'a wrong password' \
    holdfast run -n -u "postgres://keeper:wrong@$tcp" job -- true
says 77 'no password supplied' 'no password' \
    holdfast run -n -u "postgres://keeper@$tcp" job -- true
echo "localhost:$port:postgres:keeper:se/cret@1" >"$W/pgpass"
chmod 600 "$W/pgpass"
says 0 ran 'PGPASSFILE' env PGPASSFILE="$W/pgpass" \
    holdfast run -n -u "postgres://keeper@$tcp" job -- echo ran
echo 'se/cret@1' >"$W/password"
chmod 600 "$W/password"
says 0 ran 'HOLDFAST_PASSWORD_FILE' env HOLDFAST_PASSWORD_FILE="$W/password" \
    holdfast run -n -u "postgres://keeper@$tcp" job -- echo ran
printf '[locks]\nhost=localhost\nport=%s\ndbname=postgres\nuser=keeper\npassword=se/cret@1\n' \
    "$port" >"$W/services"
says 0 ran 'a service' env PGSERVICEFILE="$W/services" holdfast run -n \
    -u "postgres:///?service=locks&node_timeout=3s&connect_timeout=10s" job -- echo ran

# ---- A password as a parameter -------------------------------------------------

url="postgres://keeper@$tcp&password=se/cret%401&sslpassword=un/used"
is_started() { [ -s "$W/started" ]; }
shown() { # TITLE FILES [ARG...]: a run, and where its password is seen
    local title=$1 seen=$2 wrapper keeper
    shift 2
    rm -f "$W/started"
    # shellcheck disable=SC2016 # of the shell within
    holdfast run "$@" shown -- sh -c 'echo "$PPID" >"$1" && exec sleep 60' sh \
        "$W/started" &
    wrapper=$!
    ok "$title: it logs in" wait_until 20 is_started
    read -r keeper <"$W/started"
    for file in "/proc/$wrapper/"{cmdline,environ} "/proc/$keeper/"$seen; do
        unlike "$(tr '\0' '\n' <"$file")" 'se/cret|un/used' \
            "$title: not in ${file##*/} of $([[ $file = *$wrapper* ]] &&
                echo the wrapper || echo the keeper)"
    done
    kill "$wrapper"
    wait "$wrapper"
} 2>/dev/null
shown 'password= in -u' cmdline -u "$url"
HOLDFAST_URL=$url shown 'password= in HOLDFAST_URL' cmdline
says 64 'probably meant: ' 'a line that is proposed' holdfast run -u "$url" shown true
unlike "$err" 'se/cret|un/used' 'shows no password of a parameter'
finish
