# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The wall clock of a server of a store that agrees by consensus is set while locks
# are held. Leases and sessions are counted by monotonic clocks, so no lock is lost,
# given twice or kept too long. Marks of --once are judged by wall clocks, as
# docs/stores.md states. Source after the file of the server; the test starts servers
# with --clock, and sets
#
#   NODE HOLDFAST_URL        the NAME of the server; of a cluster: KIND, and then
#                            has_leader finds NODE
#   server_time              prints its wall clock, in seconds; for those that answer
#                            over HTTP: http_time URL
#
#   steps_begin KEPT_S DIES_S   a mark, contenders, and a holder that is kept; the
#                            ttl of it and of those that are killed
#   steps_set SECONDS        cases: the clock is set, and a holder killed; its lock
#                            is granted again
#   steps_kill SECONDS       the first part of this: the lock has the name $died
#   steps_granted            cases: it is granted again, and what was kept is held
#   steps_kept               cases: what was kept is held
#   steps_end                cases: never two at once, fences rose
#   marks_set [URL]          cases: marks by that clock; URL is a server whose clock
#                            is right, and which judges by its own
#   marks_set_beside NAME NAME    the same, with one of these that is not NODE
. "$(dirname "${BASH_SOURCE[0]}")/holders.sh"
. "$(dirname "${BASH_SOURCE[0]}")/contend.sh"
sed -i 's/^sleep 0.02/sleep 0.5/' "$W/section" # few grants: the test mostly waits

http_time() { # URL
    date -d "$(curl -sSI --noproxy '*' -m 10 "$1" |
        sed -n 's/^[Dd]ate: //p' | tr -d '\r')" +%s
}

has_leader() { NODE=$("${KIND}_leader") && [ -n "$NODE" ]; }
url_of() { # NAME: of a cluster
    local -n ports=${KIND^^}_PORT
    echo "$KIND://127.0.0.1:${ports[$1]}?node_timeout=3s&connect_timeout=5s"
}

is_off_by() { # SECONDS
    local off
    off=$(($(server_time) - EPOCHSECONDS - $1))
    [ "${off#-}" -le 60 ]
}

ran_once() { # NAME [URL]
    timeout 60 holdfast run --once 1h ${2:+-u "$2"} "$1" -- echo ran
}

died=''
steps_begin() {
    dies_s=$2
    is "$(ran_once nightly)$(ran_once nightly)" ran 'one run an hour'
    begin kept -t "${1}s" kept
    ok 'a lock is held' wait_until 20 holds kept
    contend_start 3
    contend_goes_on 'three contenders' 60
}

steps_kill() {
    died=dies$((${died#dies} + 1))
    died_since=$(now_ms)
    begin "$died" -t "${dies_s}s" "$died"
    ok 'another holder' wait_until 20 holds "$died"
    server_clock "$NODE" "$1"
    ok "the clock of the server is set: $1 s" is_off_by "$1"
    kill -9 "$(pgrep -P "$begun")" # its keeper, which would release the lock
    contend_goes_on '... and three contend' 60
}

steps_kept() {
    ok '... and the other lock is held' holds kept
    is "$(grep -c '"event":"lost"' "$W/events.kept")" 0 '... and was never lost'
    gives 75 '... and is refused to another' run -n kept -- true
}

steps_granted() {
    local took
    capture timeout 100 holdfast run -w 80s "$died" -- true
    took=$(($(now_ms) - died_since))
    is "$code" 0 '... and a killed holder: its lock is granted again'
    ok "... not before its ttl is over ($took ms)" test $took -ge $((dies_s * 1000))
    steps_kept # now a session that is not renewed would have ended
}

steps_set() {
    steps_kill "$1"
    steps_granted
}

steps_end() {
    end kept
    contend_end
}

marks_set() {
    server_clock "$NODE" 3000
    is "$(ran_once nightly)" '' '50 minutes ahead: the period goes on'
    server_clock "$NODE" 4000
    [ $# = 0 ] ||
        is "$(ran_once nightly "$1")" '' '... as at a server whose clock is right'
    is "$(ran_once nightly)" ran '67 minutes ahead: it is over too soon'
    server_clock "$NODE" 0
    is "$(ran_once nightly)" '' 'the clock is right again: it goes on'
    server_clock "$NODE" 7800
    [ $# = 0 ] ||
        is "$(ran_once nightly "$1")" '' '... as at the other server'
    is "$(ran_once nightly)" ran '... until an hour after the mark'
}

marks_set_beside() {
    local other=$1
    [ "$NODE" != "$1" ] || other=$2
    HOLDFAST_URL=$(url_of "$NODE")
    marks_set "$(url_of "$other")"
}
