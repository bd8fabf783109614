#!/bin/bash
# build.sh [NAME...]: builds the programs of mods/NAME from the Go module proxy, each into its own cached folder
# (env.sh, `built`). By default all that a local cluster needs. A second run finds everything there. Needs Go >= 1.26.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"

# go_build MODULE FOLDER LDFLAGS PACKAGE...: without debug information. If its flags change, so must "recipe" in env.sh. The
# compilers collect garbage only from 1.5 GiB on: that takes a third less of the processors.
go_build() {
  GOGC=off GOMEMLIMIT=1500MiB CGO_ENABLED=0 \
    go -C "$1" build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags="-s -w $3" -o "$2/" "${@:4}"
}

# build NAME [LDFLAGS]
build() {
  local out tools tool what=() start=$SECONDS mod=$cluster_dir/mods/$1
  out=$(built "$1")
  [ ! -e "$out/done" ] || return 0
  echo "build.sh: $1 ..."
  mkdir -p "$out"
  if [ -e "$mod/main.go" ]; then what+=(.); fi
  tools=$(go -C "$mod" mod edit -json | jq -r '.Tool[]?.Path')
  for tool in $tools; do
    case $tool in
    # One command builds it apart: Go refuses its Sirupsen/logrus beside the others' sirupsen/logrus.
    */local-path-provisioner) go_build "$mod" "$out" "${2:-}" "$tool" ;;
    *) what+=("$tool") ;;
    esac
  done
  go_build "$mod" "$out" "${2:-}" "${what[@]}"
  [ ! -e "$out/server" ] || mv "$out/server" "$out/etcd"
  [ ! -e "$out/k8s" ] || mv "$out/k8s" "$out/coredns"
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
  set -- "$@" k8s cni
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
