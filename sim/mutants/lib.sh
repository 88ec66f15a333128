# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Programs of a build with some source files changed: only these are compiled.
# For sim/mutants/run; $root and $build are set.

mutants_work=$(mktemp -d)
trap 'rm -rf "$mutants_work"' EXIT

# Build TARGETs as they are, and remember how.
mutants_begin() { # TARGET...
    local target
    build=$(cd "$build" && pwd) || return
    ninja -C "$build" "$@" >"$mutants_work/log" 2>&1 || {
        tail "$mutants_work/log"
        return 1
    }
    for target in "$@"; do
        ninja -C "$build" -t commands "$target" |
            tee "$mutants_work/$target.link" >>"$mutants_work/commands"
    done
}

# How ORIGINAL is compiled.
mutants_command() { # ORIGINAL
    grep -F -m 1 -- " -c $1" "$mutants_work/commands"
}

# FILE, relative to the root, as it is in DIR: DIR/objects gets a line with the
# object that it stands for, and its own. Optimizing it costs more than it saves.
mutants_compile() { # DIR FILE
    local original=$root/$2 source=$1/$2 object command
    if [[ $2 == *.lua ]]; then
        source=$1/lua_scripts.c
        original=$build/generated/lua_scripts.c
        [ ! -e "$source" ] || return 0
        cp -n "$root"/src/store/redis/*.lua "$1/src/store/redis" || return
        cmake "-DOUT=$source" -DHEADER=store/redis/scripts.h \
            "-DSCRIPTS=$(printf '%s|' "$1"/src/store/redis/*.lua |
                sed 's/|$//')" -P "$root/cmake/embed_lua.cmake" || return
    fi
    command=$(mutants_command "$original")
    [ -n "$command" ] || { echo "$original is compiled nowhere"; return 1; }
    object=$1/$(basename "$source").o
    (cd "$build" &&
        eval "${command%% -MD *} -w -O0 -g0 -c '$source' -o '$object'") || return
    printf '%s %s\n' "$(sed -E 's/.* -o ([^ ]+) -c .*/\1/' <<<"$command")" \
        "$object" >>"$1/objects"
}

# TARGET, which the build calls PROGRAM, with the changed objects; as DIR/NAME.
# Where the original comes from an archive, ours stands before that. Without
# symbols, and by gold if it is there: that takes a third of the CPU time.
mutants_link() { # DIR TARGET PROGRAM
    local link original object flags='-s'
    ! command -v ld.gold >/dev/null || flags+=' -fuse-ld=gold'
    link=$(tail -n 1 "$mutants_work/$2.link")
    link=${link/"-o $3 "/"$flags -o $1/$(basename "$3") "}
    while read -r original object; do
        if [[ $link == *" $original "* ]]; then
            link=${link/" $original "/" $object "}
        else
            link=${link/" -o "/" $object -o "}
        fi
    done <"$1/objects"
    (cd "$build" && eval "$link")
}
