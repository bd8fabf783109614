#!/bin/bash
# build.sh [NAME...]: builds the programs of mods/NAME from the Go module proxy, each into its own cached folder
# (env.sh, `built`). By default all that a local cluster needs. A second run finds everything there. Needs Go >= 1.26.
set -euo pipefail # A change of flags needs another "recipe" in env.sh.
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"

# build NAME [LDFLAGS]
build() {
  local out what=() start=$SECONDS
  out=$(built "$1")
  [ ! -e "$out/done" ] || return 0
  if grep -q ^tool "$cluster_dir/mods/$1/go.mod"; then what+=(tool); fi
  if [ -e "$cluster_dir/mods/$1/main.go" ]; then what+=(.); fi
  echo "build.sh: $1 ..."
  mkdir -p "$out"
  CGO_ENABLED=0 go -C "$cluster_dir/mods/$1" build -trimpath -buildvcs=false -ldflags="-s -w ${2:-}" -o "$out/" "${what[@]}"
  [ ! -e "$out/server" ] || mv "$out/server" "$out/etcd"
  # Its CRDs lie in its module.
  if [ "$1" = cert-manager ]; then
    install -D -m 644 -t "$out/crds" \
      "$(go -C "$cluster_dir/mods/$1" list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)"/deploy/crds/*.yaml
  fi
  touch "$out/done"
  echo "build.sh: $1: $((SECONDS - start)) s"
}

if [ $# = 0 ]; then
  for v in $ETCD_VERSIONS; do set -- "$@" "etcd-$v"; done
  set -- "$@" k8s cni addons
fi
for name; do
  case $name in
  k8s)
    v=k8s.io/component-base/version
    build k8s "-X $v.gitVersion=$K8S_VERSION -X $v.gitMajor=1 -X $v.gitMinor=$(cut -d. -f2 <<<"$K8S_VERSION")"
    ;;
  *) build "$name" ;;
  esac
done
