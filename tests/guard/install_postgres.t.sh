#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# holdfast guard postgres --install, on a real server.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/databases.sh"
. "$(dirname "$0")/../lib/servers.sh"
# timeout: 240
postgres_start || skip_all "no PostgreSQL"
export PGUSER=postgres PGOPTIONS='-c client_min_messages=warning'

install() { # [ARG...]
    capture holdfast guard postgres --install "$@"
}

installs() { # TITLE REGEX [ARG...]
    local title=$1 regex=$2
    shift 2
    install "$@"
    is "$code:$out" 0: "$title"
    like "$err" "^holdfast: guard: PostgreSQL: guard version 3 $regex" "$title: says it"
}

refused() { # CODE REGEX TITLE [ARG...]
    local want=$1 regex=$2 title=$3
    shift 3
    install "$@"
    is "$code:$out" "$want:" "$title: exit $want"
    like "$err" "^holdfast: guard: $regex" "$title: says it"
    is "$(wc -l <<<"$err")" 1 "$title: in one line"
}

# All that is installed, and since when.
installed() {
    pg -c "SELECT oid, xmin, proname FROM pg_proc
            WHERE pronamespace = 'holdfast'::regnamespace ORDER BY 1;
        SELECT oid, xmin, tgname FROM pg_trigger
            WHERE NOT tgisinternal ORDER BY 1"
}

# ---- Fresh, again, older, newer
installs fresh 'is installed: SELECT holdfast.fence\(NAME, FENCE\) in the '
is "$(pg -c "SELECT holdfast.fence('a', 42), holdfast.guard_version()")" 't|3' \
    'a fence passes'
capture pg -c "SELECT holdfast.fence('a', 41)"
like "$err" "fence 41 of 'a' is stale: 42 was presented" 'a stale one is refused'
before=$(installed)
installs again 'was installed already; nothing was changed$'
is "$(installed)" "$before" 'nothing was changed'
install -q
is "$code:$out$err" 0: 'with -q no line'
holdfast guard postgres | sed 's/SELECT 3/SELECT 0/' | pg
installs 'an older one' 'is installed, in place of version 0; the fences that'
is "$(pg -c "SELECT fence FROM holdfast.guard WHERE name = 'a'")" 42 \
    'its memory is kept'
holdfast guard postgres |
    sed "s/SELECT 3/SELECT 1/; /SET lc_monetary/d; /SET [ditbeq][a-z_]* =/d" | pg
installs 'version 1, whose names depend on settings' \
    'is installed, in place of version 1; the fences that'
is "$(pg -c "SELECT cardinality(proconfig) FROM pg_proc WHERE proname = 'guard_row'")" 8 \
    'they do not any more'
pg -c 'DROP FUNCTION holdfast.guard_version()'
installs 'one from before there were versions' 'is installed, in place of version 0'
pg -c 'DROP FUNCTION holdfast.fence(text, bigint)'
installs 'one that lacks a function' 'is installed, in place of an incomplete'
is "$(pg -c "SELECT holdfast.fence('a', 42)")" t 'it is there again'
pg -c "CREATE FUNCTION holdfast.fence(text, text) RETURNS boolean LANGUAGE sql
    AS 'SELECT holdfast.fence(\$1, \$2::bigint)'" \
    -c 'REVOKE ALL ON FUNCTION holdfast.fence(text, text) FROM PUBLIC'
installs 'with a function of that name by another hand' 'was installed already; nothing was'
holdfast guard postgres | sed 's/SELECT 3/SELECT 2/' | pg
installs 'an older one beside it' 'is installed, in place of version 2; the fences that'
is "$(pg -c "SELECT proacl FROM pg_proc WHERE proname = 'fence' AND pronargs = 2
    AND proargtypes[1] = 'text'::regtype")" '{postgres=X/postgres}' 'whose rights stay'
pg -c 'DROP FUNCTION holdfast.fence(text, text)'
holdfast guard postgres | sed 's/SELECT 3/SELECT 7/' | pg
before=$(installed)
refused 78 'PostgreSQL: has version 7 of the guard, and this holdfast version 3: '\
'nothing was changed; use a newer holdfast$' 'a newer one'
is "$(installed)" "$before" 'it was not changed'
holdfast guard postgres | pg

# psql reads the text to its last statement, then both end.
pg -c 'DROP FUNCTION holdfast.guard_version()' # the last that is made
before=$(installed)
mkdir "$W/cut"
cat >"$W/cut/psql" <<SH
#!/bin/sh
cat >'$W/text'
grep -q 'CREATE SCHEMA' '$W/text' || exec $(command -v psql) "\$@" <'$W/text'
sed '\$d' '$W/text' | $(command -v psql) "\$@"
kill -9 \$\$
SH
chmod +x "$W/cut/psql"
PATH=$W/cut:$PATH refused 70 'PostgreSQL: psql was ended by a signal: Killed; nothing' \
    half-way
is "$(installed)" "$before" 'nothing was changed'
installs 'the second run' 'is installed, in place of version 0'

# ---- Tables
pg -c 'CREATE TABLE accounts (id int PRIMARY KEY, balance int, fence bigint)'
table=(--table accounts --lock 'account-{id}')
installs 'a table' 'was installed already; the triggers of accounts are installed' \
    "${table[@]}"
pg -c 'INSERT INTO accounts VALUES (7, 100, 42)'
capture pg -c 'UPDATE accounts SET balance = 1, fence = 41 WHERE id = 7'
like "$err" "fence 41 of 'account-7' is stale: 42" 'a stale write is refused'
installs 'the table again' 'was installed already; the triggers of accounts were' \
    "${table[@]}"
installs 'another name' '.*the triggers of public.accounts are installed' \
    --table public.accounts --lock 'konto-{id}'
pg -c 'ALTER TABLE accounts DISABLE TRIGGER holdfast_guard'
installs 'a disabled trigger' '.*the triggers of accounts are installed' "${table[@]}"
refused 78 'PostgreSQL: 42P01: relation "none" does not exist; nothing was changed$' \
    'no such table' --table none --lock x
pg -c 'DROP SCHEMA holdfast CASCADE'
installs 'guard and table at once' \
    'is installed; the triggers of accounts are installed' "${table[@]}"

# ---- Servers
pg -c 'CREATE DATABASE other' -c 'CREATE ROLE app LOGIN' \
    -c 'REVOKE ALL ON DATABASE other FROM public' \
    -c 'GRANT CONNECT ON DATABASE other TO app'
installs 'a database by name' 'is installed' other
is "$(PGDATABASE=other pg -c 'SELECT holdfast.guard_version()')" 3 'it is there'
PGDATABASE=other pg -c 'DROP SCHEMA holdfast CASCADE'
refused 77 'PostgreSQL: this role may not install the guard: GRANT CREATE ON '\
'DATABASE other TO app$' 'no right' "postgres://app@/other?host=$W/pg"
pg -c 'GRANT CREATE ON DATABASE other TO app'
installs 'with that right' 'is installed:' "postgresql://app@/other?host=$W/pg"
PGDATABASE=other pg -c 'CREATE TABLE t (id int, fence bigint)'
refused 77 'PostgreSQL: 42501: permission denied for table t; GRANT SELECT, UPDATE, TRIGGER ON '\
't TO app$' 'no right at a table' "postgres://app@/other?host=$W/pg" --table t --lock x
PGDATABASE=other pg -c 'GRANT SELECT, UPDATE, TRIGGER ON t TO app'
installs 'with that right' '.*the triggers of t are installed' \
    "postgres://app@/other?host=$W/pg" --table t --lock x
refused 77 'PostgreSQL: 42501: must be owner of relation t; only its owner may replace the '\
'trigger: install as postgres$' 'a trigger of a table of another role' \
    "postgres://app@/other?host=$W/pg" --table t --lock y
PGDATABASE=other pg -c 'CREATE SCHEMA "Sales"' -c 'GRANT USAGE ON SCHEMA "Sales" TO app' \
    -c 'CREATE TABLE "Sales".t (id int, fence bigint)'
refused 77 'PostgreSQL: 42501: permission denied for table t; GRANT SELECT, UPDATE, TRIGGER ON '\
'"Sales".t TO app$' 'no right at a table of another schema' \
    "postgres://app@/other?host=$W/pg" --table Sales.t --lock x
refused 78 'PostgreSQL: schema holdfast belongs to app, not to postgres' \
    'as another role, an older one' \
    "$(PGDATABASE=other pg -c 'DROP FUNCTION holdfast.guard_version()' && echo other)"

# Default privileges that take functions from PUBLIC: USAGE on the schema suffices.
usage() { # TITLE
    capture pg_as writer -c "SELECT holdfast.fence('a', 42)" hard
    is "$code:$out" 0:t "$1"
}
pg -c 'CREATE DATABASE hard' -c 'CREATE ROLE writer LOGIN' -c 'CREATE ROLE auditor LOGIN'
PGDATABASE=hard pg \
    -c 'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC'
installs 'after REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC' 'is installed' hard
PGDATABASE=hard pg -c 'GRANT USAGE ON SCHEMA holdfast TO writer, auditor'
usage 'a role with USAGE may present fences'
PGDATABASE=hard pg -c 'REVOKE EXECUTE ON FUNCTION holdfast.fence FROM PUBLIC'
installs 'functions that only their owner may execute' 'is installed, in place of an inc' hard
usage 'and again'
PGDATABASE=hard pg -c 'REVOKE EXECUTE ON FUNCTION holdfast.fence FROM PUBLIC' \
    -c 'GRANT EXECUTE ON FUNCTION holdfast.fence TO writer'
installs 'functions for chosen roles' 'was installed already' hard
holdfast guard postgres | PGDATABASE=hard pg
usage 'the chosen one may'
capture pg_as auditor -c "SELECT holdfast.fence('a', 42)" hard
like "$err" 'permission denied for function fence' 'and no other, after each installation'
holdfast doctor --print-schema -u postgres: | PGDATABASE=hard pg >/dev/null
is "$?" 0 'the schema of the locks, in the same database'
capture pg_as auditor -c "SELECT holdfast.fence('a', 42)" hard
like "$err" 'permission denied for function fence' 'leaves the rights of the guard'
capture pg_as auditor -c "SELECT verdict FROM holdfast.inspect('a'::bytea)" hard
is "$code:$out" 0:1 'and gives those of the locks to each role with USAGE, as docs/fencing.md says'
refused 69 'PostgreSQL: connection to server .*No such file' 'no server' \
    "postgres://u@/db?host=$W/none"
refused 78 'PostgreSQL: .*database "none" does not exist' 'no database' none
refused 64 '--install mysql://x: must be postgres://' 'another scheme' mysql://x
refused 64 '--install: ps would show the password: ' 'a password in words' \
    'host=x password=secret'
refused 64 '--install --table needs --lock|--table' 'a table without --lock' --table t
refused 64 '--install: excludes --reset' 'a reset' --reset a
capture holdfast guard postgres other
is "$code:$err" '64:holdfast: guard: other: only with --install' 'a server alone'
mkdir "$W/empty"
ln -s "$(command -v holdfast)" "$W/empty/holdfast"
capture env PATH="$W/empty" "$(command -v holdfast)" guard postgres --install
is "$code:$err" '127:holdfast: guard: PostgreSQL: psql: command not found; '\
'Debian has it in the package postgresql-client' 'no client program'
pg -c 'CREATE DATABASE frozen' \
    -c 'ALTER DATABASE frozen SET default_transaction_read_only = on'
refused 78 'PostgreSQL: 25006: cannot execute .* in a read-only transaction' \
    'a database that is only read' frozen

# ---- A password
postgres_stop
sed -i 's/trust$/scram-sha-256/' "$W/pg/data/pg_hba.conf"
echo "local all postgres trust" | cat - "$W/pg/data/pg_hba.conf" >"$W/hba"
cat "$W/hba" >"$W/pg/data/pg_hba.conf"
postgres_restart || fail 'a restart'
pg -c "ALTER ROLE app PASSWORD 's3cr@t/%'" -c 'CREATE DATABASE app OWNER app'
refused 77 'PostgreSQL: connection to server.*no password supplied' 'no password' \
    "postgres://app@/app?host=$W/pg"
refused 77 'PostgreSQL: .*password authentication failed' 'a wrong one' \
    "postgres://app:wrong@/app?host=$W/pg"
mkdir "$W/bin"
cat >"$W/bin/psql" <<SH
#!/bin/sh
cat /proc/\$\$/cmdline /proc/\$PPID/cmdline | tr '\0' ' ' >>"$W/seen"
exec $(command -v psql) "\$@"
SH
chmod +x "$W/bin/psql"
PATH=$W/bin:$PATH installs 'a password in the URL' 'is installed:' \
    "postgres://app:s3cr%40t%2f%25@/app?host=$W/pg&connect_timeout=9"
like "$(<"$W/seen")" "psql .*-d postgres://app@/app\\?host=$W/pg&connect_timeout=9" \
    'psql has the URL'
like "$(<"$W/seen")" 'holdfast .*postgres://app:\*+@/app' 'ours is overwritten'
unlike "$(<"$W/seen")" 's3cr' 'ps shows no password'
rm "$W/seen"
PATH=$W/bin:$PATH installs 'a password as a parameter' 'was installed already' \
    "postgres://app@/app?password=s3cr%40t%2F%25&host=$W/pg"
unlike "$(<"$W/seen")" 's3cr' 'ps shows none'
refused 64 '--install postgres://app@/app\?sslpassword=\*+: ps would show' \
    'an sslpassword' 'postgres://app@/app?sslpassword=secret'
refused 64 '--install mysql://u:\*+@h: must be postgres://' 'one in another URL' \
    mysql://u:secret@h
refused 64 '--install postgres://app:\*+@/app: a URL has' 'a bad one' \
    'postgres://app:%zz@/app'
rm "$W/seen"
for url in postgres://app:SE/CRET@h/db 'postgres://app:SE?CRET@h/db' \
    postgres://app:p@SE/CRET@h/db 'postgres://app@h/db?password=SE@CRET'; do
    PATH=$W/bin:$PATH refused 64 '--install postgres://\*+: write a / in the login as %2F' \
        "a password that is not encoded: $url" "$url"
done
PATH=$W/bin:$PATH refused 64 '--install postgres://app@h/db\?%70assword=\*+: write the names' \
    'a parameter whose name is encoded' 'postgres://app@h/db?%70assword=SECRET'
ok 'psql saw none of them' test ! -e "$W/seen"
capture holdfast guard postgres postgres://app:SE/CRET@h/db
is "$code:${err//\*/}" '64:holdfast: guard: postgres://: only with --install' \
    'without --install the password is hidden, too'

# ---- TLS: psql checks the certificate and the name before the login
issue() { # NAME HOST: a certificate of its own authority
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$2" \
        -addext "subjectAltName=DNS:$2" -keyout "$W/$1.key" -out "$W/$1.crt" 2>/dev/null
}
serve() { # NAME
    command install -m 600 "$W/$1.key" "$W/pg/data/server.key"
    command install -m 600 "$W/$1.crt" "$W/pg/data/server.crt"
    [ "$(id -u)" != 0 ] || chown postgres:postgres "$W"/pg/data/server.*
    postgres_stop
    PGPORT=$port postgres_restart -c listen_addresses=127.0.0.1 -c "port=$port" \
        -c ssl=on -c ssl_cert_file=server.crt -c ssl_key_file=server.key \
        -c log_connections=on
}
on_server() {
    PGPORT=$port pg -d app "$@"
}
schemas() {
    on_server -c "SELECT COUNT(*) FROM pg_namespace WHERE nspname = 'holdfast'"
}
port=$(free_port)
issue good localhost
issue elsewhere elsewhere
sed -i '1i hostssl all app 127.0.0.1/32 scram-sha-256' "$W/pg/data/pg_hba.conf"
verify="localhost:$port/app?sslmode=verify-full&sslrootcert=$W"
app='postgres://app:s3cr%40t%2f%25'
ok 'a server of another name' serve elsewhere
on_server -c 'DROP SCHEMA holdfast CASCADE'
refused 69 'PostgreSQL: connection to server at .* failed: .*certificate.* does not match host name' \
    'another name' "$app@$verify/elsewhere.crt"
is "$(schemas)" 0 '... and nothing is installed'
ok 'the right server' serve good
refused 69 'PostgreSQL: connection to server at .* failed: SSL error: certificate verify failed' \
    'another authority' "$app@$verify/elsewhere.crt"
refused 78 'PostgreSQL: connection to server at .*root certificate file .* does not exist' \
    'no such file' "$app@$verify/none.crt"
is "$(schemas)" 0 '... and nothing is installed'
refused 77 'PostgreSQL: .*password authentication failed' 'a wrong password over TLS' \
    "postgres://app:wrong@$verify/good.crt"
installs 'verify-full' 'is installed:' "$app@$verify/good.crt"
is "$(schemas)" 1 'the guard is there'
finish
