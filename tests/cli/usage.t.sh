#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Arguments that are refused, and the messages.
. "$(dirname "$0")/../lib/tap.sh"
export HOLDFAST_URL=local://$W/store

# One line on stderr that begins "holdfast: ", nothing on stdout, the code.
refused() { # CODE REGEX TITLE COMMAND...
    local want=$1 regex=$2 title=$3
    shift 3
    capture "$@"
    is "$code" "$want" "$title: exit $want"
    like "$err" "^holdfast: [^"$'\n'"]*$" "$title: one line"
    like "$err" "$regex" "$title: says it"
    is "$out" '' "$title: nothing on stdout"
}

refused 64 'which command' 'no command' holdfast
refused 64 'unknown command rnu: did you mean run\?' 'slip in a command' \
    holdfast rnu x -- true
refused 64 'unknown option --wiat: did you mean --wait\?' 'slip in an option' \
    holdfast run --wiat 5 x -- true
refused 64 'unknown option --tll: did you mean --ttl' 'with a value joined' \
    holdfast run --tll=5 x -- true
refused 64 'unknown option -N: did you mean -n \(--try\)' 'wrong case' \
    holdfast run -N x -- true
refused 64 'unknown option --zzzzzz \(see holdfast run --help\)' \
    'nothing near' holdfast run --zzzzzz x -- true
refused 64 'unknown option --try before the command \(see holdfast --help\)$' \
    'an option before its command' holdfast --try run x -- true
refused 64 'unknown option -n before the command \(see' \
    'a letter before its command' holdfast -n run x -- true
refused 64 'unknown option --jsn before the command: did you mean --json\?' \
    'a slip before the command' holdfast --jsn ls
refused 64 'unknown option -n \(see holdfast --help\)$' 'an option alone' \
    holdfast -n
refused 64 'unknown option -x' 'unknown letter' holdfast run -x x -- true
refused 64 '--wait needs a value: --wait DUR' 'no value' \
    holdfast run x --wait -- true
refused 64 '--try takes no value' 'a value too many' \
    holdfast run --try=yes x -- true

refused 64 'probably meant: holdfast run nightly -- ./report.sh -v$' \
    'run without --' holdfast run nightly ./report.sh -v
refused 64 "meant: holdfast run -w 5 a -- echo 'b c' d\$" \
    'run without -- after options' holdfast run -w 5 a echo 'b c' d
refused 64 'meant: holdfast run --ttl=3s --name=-x -- ls -l$' \
    'run without -- with --name' holdfast run --ttl=3s --name=-x ls -l
refused 64 'meant: holdfast run --name -x -w 5 -- ls -l$' \
    'run without -- with --name and its value' holdfast run --name -x -w 5 ls -l
refused 64 'meant: holdfast run -n --name a -- COMMAND$' \
    'run with a --name only' holdfast run -n --name a
refused 64 'meant: holdfast run nightly -- COMMAND$' 'run with a name only' \
    holdfast run nightly
refused 64 'meant: holdfast run NAME -- COMMAND$' 'run with nothing' \
    holdfast run
refused 64 "unknown option -c: a shell is named: -- sh -c 'COMMAND'" \
    'run -c, as with flock' holdfast run -c 'echo hi' job
refused 64 "unknown option -c: a shell is named: -- sh -c 'COMMAND'" \
    '-c after the name' holdfast run -n job -c 'echo hi'
refused 64 'meant: holdfast run --name=job -- sh -c' \
    'an option of the command is its own' holdfast run --name=job sh -c 'echo hi'
refused 64 'no command behind --' 'nothing after --' holdfast run x --
refused 64 'a name is missing' 'no name' holdfast run -- true
refused 64 'this one has 0' 'an empty name among several' \
    holdfast run a '' b -- true
names=$(printf 'n%d ' {1..65})
# shellcheck disable=SC2086
refused 64 'at most 64 names at a time; these are 65' 'too many names' \
    holdfast run $names -- true
for command in acquire extend release break; do
    refused 64 "$command: one name at a time .*$command.* NAME" \
        "$command with two names" holdfast $command a b
done

refused 64 '--once is ten years at most' 'a period that is too long' \
    holdfast run --once 3651d x -- true

# An argument that is no URL, and one that is too long for one.
endless=local:///$(head -c 8192 /dev/zero | tr '\0' x)
refused 64 '-u: not a store URL' '-u that is no URL' holdfast ls -u x
refused 64 '-u: .*8191 bytes; this one has 8201' 'a URL of -u that is too long' \
    holdfast ls -u "$endless"
HOLDFAST_URL=x refused 78 'HOLDFAST_URL: not a store URL' 'of the environment' \
    holdfast ls
HOLDFAST_URL=$endless refused 78 'HOLDFAST_URL: .*8191 bytes; this one has 8201' \
    'too long, of the environment' holdfast ls

for value in '' abc 5x 1h30 30m1h -5 1..5 1s1s 0.0001; do
    refused 64 "not a duration|not negative" "--wait '$value'" \
        holdfast run --wait="$value" x -- true
done
for value in 36601d 9999999999h 99999999999999999999; do
    refused 64 'at most 36600d' "--wait '$value'" \
        holdfast run --wait="$value" x -- true
done
refused 64 '--wait -v: not a duration \(250ms' 'an option in place of a value' \
    holdfast run --wait -v x -- true
for value in 0 0s 5ms; do
    refused 64 'at least 10ms' "--ttl $value" \
        holdfast run --ttl "$value" x -- true
done
refused 64 'not negative' '--ttl -5' holdfast run --ttl=-5 x -- true
refused 64 '2m.*1m|120.*60' '--ttl above max_ttl names both' \
    holdfast run --ttl 2m x -- true
refused 64 'at most half of the ttl, which is 30s' '--kill-grace too long' \
    holdfast run --kill-grace 16s x -- true
refused 64 'must be kill or warn' '--on-lost' \
    holdfast run --on-lost explode x -- true
refused 64 'must be fail or run' '--on-unreachable' \
    holdfast run --on-unreachable x x -- true
refused 64 'from 0 to 255' '-E' holdfast run -E 256 x -- true
refused 64 'from 0 to 255' '-E word' holdfast run -E x x -- true
refused 64 'status-fd: Bad file' '--status-fd closed' \
    holdfast run --status-fd 77 x -- true
refused 64 'status-fd: it is open for reading only' '--status-fd to read from' \
    holdfast run --status-fd 7 x -- true 7</dev/null
refused 64 '31 days at most' 'a --min-hold of 32 days' \
    holdfast run --min-hold 32d x -- true
refused 64 'min-hold keeps others out' '--min-hold with --shared' \
    holdfast run --shared --min-hold 5 x -- true
refused 64 'once does not wait' '--once with --wait' \
    holdfast run --once 1h -w 5 x -- true
refused 64 'try does not wait' '--try with --wait' \
    holdfast run -n -w 5 x -- true
refused 64 'try does not wait' 'acquire --try with --wait' \
    holdfast acquire -n -w 5 x
for value in 0 257 x -1 1.5 ''; do
    refused 64 'permits .*must be a number from 1 to 256' "-p '$value'" \
        holdfast run --permits="$value" x -- true
done
refused 64 '--shared is .*--permits.*one of them' '-s with -p' \
    holdfast run -s -p 3 x -- true
refused 64 'permits takes one name' '-p with two names' \
    holdfast run -p 3 x y -- true
refused 64 'again waits for ever: leave out --try' '--again with -n' \
    holdfast run --again -n x -- true
refused 64 'again waits for ever: leave out --wait' '--again with -w' \
    holdfast run --again -w 5 x -- true
refused 64 'once starts one .*--shared' '--once with --shared' \
    holdfast run --once 1h -s x -- true
refused 64 'once starts one .*--permits' '--once with --permits' \
    holdfast run --once 1h -p 2 x -- true
refused 64 'on-fail is for --once' '--on-fail without --once' \
    holdfast run --on-fail keep x -- true
refused 64 'on-fail' '--on-fail with another word' \
    holdfast run --once 1h --on-fail drop x -- true
refused 64 'again runs .*--once does not' '--again with --once' \
    holdfast run --again --once 1h x -- true
refused 64 'again never runs without the lock' \
    '--again with --on-unreachable run' \
    holdfast run --again --on-unreachable run x -- true
refused 64 'unknown option --again' 'acquire --again' \
    holdfast acquire --again x

long=$(printf 'n%.0s' {1..1025})
refused 64 '1 to 1024 bytes; this one has 0' 'empty name' \
    holdfast run '' -- true
refused 64 '1 to 1024 bytes; this one has 1025' 'long name' \
    holdfast run "$long" -- true
refused 64 'this one has 1025' 'long name to acquire' holdfast acquire "$long"
refused 64 'whose\?' 'release without owner' holdfast release x
refused 64 'whose\?' 'extend without owner' holdfast extend x
refused 64 '.' 'malformed owner' holdfast release x --owner rubbish
refused 64 'one pattern at a time' 'ls with two words' holdfast ls a b
refused 64 'ls: --name takes no pattern beside it$' 'ls --name with a pattern' \
    holdfast ls --name a b
refused 64 'ls: the name is empty$' "ls ''" holdfast ls ''
refused 64 'ls: the name is empty$' 'ls --name= --follow' holdfast ls -f --name=
refused 64 '--interval needs --follow: it is its polling interval' \
    'ls --interval alone' \
    holdfast ls --interval 1s
refused 64 'must be at least 10ms' 'ls --interval 0' \
    holdfast ls --follow --interval 0
refused 64 'must be at least 100ms' 'top --interval 0' \
    holdfast top --interval 0
refused 64 'one pattern at a time' 'top with two words' holdfast top a b

refused 64 'update: no -- before .*: holdfast update n -- cat$' \
    'update without --' holdfast update n cat
refused 64 'run: no -- before .*: holdfast -v -u redis://a run n -- cat$' \
    'run without --, after the store' holdfast -v -u redis://a run n cat
refused 64 'meant: holdfast -u .?redis://u:\*{6}@h.? run n -- cat$' \
    'a proposal: without a password' \
    holdfast -u redis://u:secret@h run n cat
refused 64 'guard: postgres://u:\*{6}@h/d: only with --install$' \
    'guard without --install: no password' \
    holdfast guard postgres postgres://u:secret@h/d
refused 64 'guard: no guard for mysql://h/\?password=\*{6} in this version' \
    'guard of a URL: no password' holdfast guard 'mysql://h/?password=secret'
refused 64 'guard: which database\? This version has: postgres, mysql, sqlite, redis$' \
    'guard alone' holdfast guard
for database in mssql oracle; do
    refused 64 "guard: no guard for $database in this version; it has: postgres, mysql, sqlite, redis$" \
        "guard $database" holdfast guard $database
done
refused 64 'guard: mysql: only with --install' 'guard with two' \
    holdfast guard postgres mysql
refused 64 'guard: a\\x0a\\x1bb: only with --install$' \
    'guard with a word of control characters' \
    holdfast guard postgres $'a\n\eb'
refused 64 'one database at a time' 'guard with three words' \
    holdfast guard postgres --install a b
refused 64 'guard: --install: excludes --reset' 'guard --install --reset' \
    holdfast guard postgres --install --reset t
for database in sqlite redis; do
    refused 64 'guard: which .*\? holdfast guard .* --install' \
        "guard $database --install" holdfast guard $database --install
done
refused 64 '--table a.b.c: must be TABLE or SCHEMA.TABLE' \
    'guard mysql --table a.b.c' holdfast guard mysql --table a.b.c --lock t
for option in table lock column; do
    refused 64 "--$option .*: must be UTF-8" "guard mysql --$option, not UTF-8" \
        holdfast guard mysql --$option $'a\xff'
done
refused 64 '--table main.t: must be TABLE: ' 'guard sqlite --table main.t' \
    holdfast guard sqlite --table main.t --lock t
for option in table lock column; do
    refused 64 "guard: --$option: Redis has no tables: write by the script" \
        "guard redis --$option" holdfast guard redis --$option t
done
refused 64 '--reset: must not be empty' 'guard redis --reset' \
    holdfast guard redis --reset ''
refused 64 '--table: needs --lock' 'guard --table alone' \
    holdfast guard postgres --table t
refused 64 '--lock: needs --table' 'guard --lock alone' \
    holdfast guard postgres --lock t
refused 64 '--column: needs --table' 'guard --column alone' \
    holdfast guard postgres --column t
refused 64 '--table: excludes --reset' 'guard --table --reset' \
    holdfast guard postgres --table t --lock t --reset t
for table in a.b.c .b a.; do
    refused 64 "--table $table: must be TABLE or SCHEMA.TABLE" \
        "guard --table $table" holdfast guard postgres --table $table --lock t
done
for lock in 'a{' 'a}' 'a{}' '{a' 'a{b{c}' '{a}}'; do
    refused 64 'braces must hold a column, as in account-\{id\}' \
        "guard --lock $lock" holdfast guard postgres --table t --lock "$lock"
done
for option in table lock column reset; do
    refused 64 "--$option: must not be empty" "guard --$option ''" \
        holdfast guard postgres --$option ''
    refused 64 "--$option .*: must be UTF-8" "guard --$option, not UTF-8" \
        holdfast guard postgres --$option $'a\xff'
done
refused 64 'a name has 1 to 1024 bytes' 'guard --reset, long' \
    holdfast guard postgres --reset "${long}12345"
refused 64 'permits is not in this version' 'acquire -p' \
    holdfast acquire -p 3 x

# URLs.
refused 64 '-u: .*max_ttl' 'unknown URL parameter, nearest' \
    holdfast run -u "local://$W/s?max_tll=5s" x -- true
refused 64 '-u: ' 'malformed URL' holdfast run -u 'redis//x' x -- true
refused 64 '-u: ' 'empty URL' holdfast run -u '' x -- true
HOLDFAST_URL='redsi://a' refused 78 'HOLDFAST_URL: ' \
    'malformed HOLDFAST_URL' holdfast run x -- true
refused 78 'even' 'two nodes' \
    holdfast run -u redis://127.0.0.1:1,127.0.0.1:2 x -- true

refused 64 'doctor: --force is for --init$' 'doctor --force' \
    holdfast doctor --force
refused 64 'doctor: --force is for --init$' 'doctor --quarantine --force' \
    holdfast doctor --quarantine --force
refused 64 'name one of /a\\x0a\\x1bb, /b, /c, or all' \
    'doctor --quarantine: addresses with control characters' \
    holdfast doctor --quarantine x \
    -u 'redis+unix:///a%0a%1bb redis+unix:///b redis+unix:///c'

# Help.
for args in '--help' 'help' 'help run' 'run --help' 'acquire -h' \
    'help stores' '--version'; do
    # shellcheck disable=SC2086
    capture holdfast $args
    is "$code" 0 "holdfast $args succeeds"
    isnt "$out" '' "holdfast $args prints on stdout"
    is "$err" '' "holdfast $args prints nothing on stderr"
done
like "$out" '^holdfast [0-9]+\.[0-9]+\.[0-9]+$' '--version'
table=$(holdfast help stores | sed -n '/^  store  /,$p')
is "$(wc -l <<<"$table")" 11 'help stores ends with the capabilities of each store'
is "$table" "$(grep -xFf <(echo "$table") "$HF_SOURCE/docs/stores.md")" \
    '… as docs/stores.md has it'
mkdir "$W/empty"
cp "$HF_BUILD/holdfast" "$W/empty"
like "$(HOLDFAST_MODULE_DIR=$W/empty "$W/empty/holdfast" help stores)" \
    $'\n  redis://A,B,C .* yes\n  postgres:// +not installed\n' \
    '… and which modules are missing'
refused 64 'unknown command rum: did you mean run' 'help of a slip' \
    holdfast help rum
unlike "$(holdfast help; holdfast run --help; holdfast ls --help)" \
    'complete' 'help offers no later thing'
capture sh -c 'holdfast --version >/dev/full'
is "$code" 70 'stdout full: exit 70'
like "$err" '^holdfast: stdout: No space' 'stdout full: said'

# Options may stand anywhere before --, and there are none after it.
capture holdfast -q run x -n -- sh -c 'echo "$0 $*"' --wait -- y
is "$code:$out" '0:--wait -- y' 'options before the command and after the name'
capture holdfast run --name=-x -- sh -c 'echo "$HOLDFAST_NAME"'
is "$out" '-x' '--name=-x'
capture holdfast acquire --name=-x
is "$code" 0 'acquire --name=-x'
HOLDFAST_OWNER=${out%% *} holdfast release --name=-x
is $? 0 'release --name=-x'
capture holdfast run -nqw5 x -- true
is "$code" 64 'joined letters are parsed'

# Names are bytes.
for name in 'a b' 'ünïcödé' '{}' 'a}b' 'x{}y' $'two\nlines' '*' "it's" \
    $'bad\xff' '%s%n' '../x'; do
    out=$(holdfast run "$name" -- sh -c 'printf %s. "$HOLDFAST_NAME"')
    is "$out" "$name." "name $(printf %q "$name")"
done
name=$(printf 'n%.0s' {1..1024})
ok 'a name of 1024 bytes' holdfast run "$name" -- true
finish
