# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Debian packages for the scripts. Source it.
#
#   packages_need WHY PKG...    install what is missing; says so first
#   packages_backport PKG...    from the release's backports, and nothing
#                               else from there; false if there are none
#   packages_unpack SUITE FOLDER PKG...
#                               download from another release, and unpack into
#                               FOLDER: nothing is installed
#   packages_unpack_whole SUITE FOLDER PKG...
#                               the same with all dependencies; the programs run
#                               with the C library and the libraries of FOLDER
#
# Nothing is asked, no service is started, /etc/apt stays as it is.

packages_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "need root to install packages: run as root, or install sudo" >&2
        return 1
    fi
}

packages_missing() {
    local pkg
    for pkg; do
        dpkg-query -W -f '${db:Status-Abbrev}' "$pkg" 2>/dev/null |
            grep -q '^ii' || echo "$pkg"
    done
}

# A distribution's package starts its server; ours are started by the tests.
# policy-rc.d is how Debian says no. An existing one is left alone.
packages_install() {
    local policy=/usr/sbin/policy-rc.d made='' status=0
    if [ ! -e $policy ]; then
        printf '#!/bin/sh\nexit 101\n' | packages_root tee $policy >/dev/null
        packages_root chmod +x $policy
        made=1
    fi
    packages_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -o DPkg::Lock::Timeout=300 -qq "$@" </dev/null || status=$?
    [ -z "$made" ] || packages_root rm -f $policy
    return $status
}

packages_need() {
    local why=$1 missing log
    shift
    missing=$(packages_missing "$@")
    [ -n "$missing" ] || return 0
    # shellcheck disable=SC2086 # a list
    echo "installing what $why needs:" $missing
    log=$(mktemp)
    # shellcheck disable=SC2024,SC2086
    if ! packages_root apt-get -o DPkg::Lock::Timeout=300 -qq update \
        >"$log" 2>&1 ||
        ! packages_install install -y --no-install-recommends $missing \
            >>"$log" 2>&1; then
        tail -n 20 "$log" >&2
        rm -f "$log"
        return 1
    fi
    rm -f "$log"
}

# The machine's own mirror, with the suite replaced.
packages_backport_source() {
    local suite=$1
    if [ -e /etc/apt/sources.list.d/debian.sources ]; then
        awk -v suite="$suite" 'BEGIN { RS = ""; ORS = "\n\n" } NR == 1 {
            sub(/Suites:[^\n]*/, "Suites: " suite); print }' \
            /etc/apt/sources.list.d/debian.sources
    else
        awk -v suite="$suite" '$1 == "deb" && !done {
            for (i = 2; $i ~ /^\[/ || open; i++)
                open = $i !~ /\]$/
            print "Types: deb\nURIs: " $i "\nSuites: " suite \
                "\nComponents: main\nSigned-By: " \
                "/usr/share/keyrings/debian-archive-keyring.gpg"
            done = 1 }' /etc/apt/sources.list
    fi
}

packages_backport() {
    local missing release dir options status=0
    missing=$(packages_missing "$@")
    [ -n "$missing" ] || return 0
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [ -n "$release" ] || return 1
    # shellcheck disable=SC2086
    echo "installing from $release-backports:" $missing
    dir=$(mktemp -d)
    mkdir -p "$dir/parts" "$dir/lists/partial"
    cp /etc/apt/sources.list.d/* "$dir/parts/" 2>/dev/null
    packages_backport_source "$release-backports" >"$dir/parts/bpo.sources"
    options=(-o "Dir::Etc::sourceparts=$dir/parts"
        -o "Dir::State::lists=$dir/lists" -o APT::Sandbox::User=root)
    # shellcheck disable=SC2024,SC2086
    packages_root apt-get -qq "${options[@]}" update >"$dir/log" 2>&1 &&
        packages_install "${options[@]}" install -y \
            --no-install-recommends $missing >>"$dir/log" 2>&1 || status=1
    [ $status = 0 ] || tail -n 5 "$dir/log" >&2
    packages_root rm -rf "$dir"
    return $status
}

# "whole": with the dependencies, as apt would install them on an empty system.
packages_unpack_some() { # one|whole SUITE FOLDER PKG...
    local extent=$1 suite=$2 folder=$3 dir options file status=0
    shift 3
    [ ! -e "$folder" ] || return 0
    echo "unpacking from $suite: $*"
    dir=$(mktemp -d)
    mkdir -p "$dir/parts" "$dir/lists/partial" "$dir/debs/partial" "$dir/root"
    packages_backport_source "$suite" >"$dir/parts/$suite.sources"
    options=(-o Dir::Etc::sourcelist=/dev/null
        -o "Dir::Etc::sourceparts=$dir/parts"
        -o "Dir::State::lists=$dir/lists" -o Dir::State::status=/dev/null
        -o APT::Sandbox::User=root -o "Dir::Cache::archives=$dir/debs"
        -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=)
    (cd "$dir/debs" && apt-get -qq "${options[@]}" update &&
        if [ "$extent" = whole ]; then
            apt-get -qq "${options[@]}" -o Debug::NoLocking=1 -y -d \
                --no-install-recommends install "$@"
        else
            apt-get -qq "${options[@]}" download "$@"
        fi) >"$dir/log" 2>&1 || status=1
    for file in "$dir"/debs/*.deb; do
        [ $status != 0 ] || dpkg-deb -x "$file" "$dir/root" || status=1
    done
    if [ $status = 0 ] && [ "$extent" = whole ]; then
        packages_patch "$dir/root" "$(realpath -m "$folder")" >>"$dir/log" 2>&1 ||
            status=1
    fi
    if [ $status = 0 ]; then
        chmod 755 "$dir/root"
        mv "$dir/root" "$folder"
    else
        tail -n 5 "$dir/log" >&2
    fi
    rm -rf "$dir"
    return $status
}

packages_unpack() {
    packages_unpack_some one "$@"
}

packages_unpack_whole() {
    [ ! -e "$2" ] || return 0
    packages_need 'the programs of another release' patchelf &&
        packages_unpack_some whole "$@"
}

# The release of a program is that of its loader and its libraries: another C
# library than the system's has both.
packages_patch() { # ROOT FOLDER: FOLDER is where ROOT will be
    local root=$1 folder=$2 loader libraries program interpreter
    loader=$(cd "$root" && find . -name 'ld-linux*.so.*' | sort | head -n 1)
    [ -n "$loader" ] || return
    libraries=$(cd "$root" && find . -name 'lib*.so.*' -printf '%h\n' | sort -u |
        sed "s|^\.|$folder|" | paste -sd :)
    while read -r program; do
        interpreter=$(patchelf --print-interpreter "$program" 2>/dev/null) || continue
        [ -n "$interpreter" ] || continue
        patchelf --set-interpreter "$folder/${loader#./}" --force-rpath \
            --set-rpath "$libraries" "$program" || return
    done < <(find "$root" -path '*bin/*' -type f -perm /100)
}

# What it takes to build.
# shellcheck disable=SC2034
PACKAGES_BUILD=(gcc libc6-dev cmake ninja-build pkg-config libhiredis-dev
    liblmdb-dev libssl-dev libncurses-dev libpq-dev libmariadb-dev libmd-dev
    libjansson-dev libhttp-parser-dev libzookeeper-st-dev)

# What the simulator, the models and the faults need besides.
# shellcheck disable=SC2034 # used by those who source this
PACKAGES_PROOF=(liblua5.1-0-dev spin iproute2 nftables procps util-linux)

# The databases of the stores and the guards, a pooler, etcd, and ZooKeeper: the
# library has the server, and installs none that starts. kazoo is a client.
# shellcheck disable=SC2034
PACKAGES_DATABASES=(postgresql pgbouncer sqlite3 libsqlite3-dev
    mariadb-server libmariadb-dev etcd-server etcd-client
    libzookeeper-java libslf4j-java default-jre-headless python3-kazoo)

# Programs that lock in these databases, for the tests: of Rails and of Django.
# shellcheck disable=SC2034
PACKAGES_CALLERS=(ruby-activerecord ruby-pg ruby-mysql2
    python3-django python3-django-pglocks python3-psycopg2 python3-mysqldb)
