#!/bin/bash
# bench.sh [idle | clusters | holes | secrets | snapshots | objects] [FLAG...]: the manager against its budgets, in an
# API-only world; by default all parts.
# Started by ./dev bench. docs/dev/benchmarks.md explains the numbers.
#   idle      sizes, start time, memory beside foreign Pods and paused clusters (bench.py; --idle SECONDS)
#   clusters  0, 100, 1,000 three-member clusters with hollow members (bench_clusters.py; --sizes N,N --rest SECONDS)
#   holes     a healthy cluster beside 100 whose etcd is a black hole (bench_clusters.py)
#   secrets   memory beside 10,000 foreign Secrets (bench_secrets.py; --secrets N --size BYTES --rest SECONDS)
#   snapshots the agent's speed and memory compared with etcdctl and boto3 (bench_snapshots.py; --mebibytes N --runs N)
#   objects   memory of large objects in the caches, without passes (test/bench/objects_bench.cc)
# ETCDOP_MANAGER: another binary than out/release/manager.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=cluster/env.sh
. tools/cluster/env.sh
parts="idle clusters holes secrets snapshots objects"
case ${1:-} in idle | clusters | holes | secrets | snapshots | objects)
  parts=$1
  shift
  ;;
esac
tools/cluster/build.sh k8s "etcd-$ETCD_VERSION" >&2
manager=${ETCDOP_MANAGER:-}
if [ -z "$manager" ]; then
  ./dev image >&2
  manager=out/release/manager
fi
logs=$PWD/out/test/bench
mkdir -p "$logs"
(cd test/integration/standin && go build -o "$logs/standin" .)
dir=$(mktemp -d)
trap 'tools/cluster/apionly.sh down "$dir/world" || true; rm -rf "$dir"' EXIT
PATH=$(built k8s):$PATH
over=0

# in_a_world COMMAND...: runs it with the kubeconfig of a new API server of its own.
in_a_world() {
  tools/cluster/apionly.sh up "$dir/world" charts/etcd-operator/files/crds/*.yaml >/dev/null
  "$@" --kubeconfig "$dir/world/admin.kubeconfig" --manager "$manager" || over=1
  tools/cluster/apionly.sh down "$dir/world"
}

# of_snapshots FLAG...: needs no API server, but a second client of the store.
of_snapshots() {
  local boto3=$CACHE/boto3-1.44.5 etcd
  etcd=$(built "etcd-$ETCD_VERSION")
  if [ ! -e "$boto3" ]; then
    /usr/bin/python3 -m pip install --quiet --no-compile --root-user-action=ignore --target "$boto3.new" \
      boto3==1.44.5 botocore==1.44.5 >&2
    mv "$boto3.new" "$boto3"
  fi
  tools/cluster/build.sh versitygw >&2
  ETCD=$etcd/etcd ETCDCTL=$etcd/etcdctl VERSITYGW=$(built versitygw)/versitygw \
    /usr/bin/python3 tools/bench_snapshots.py --manager "$PWD/$manager" --boto3 "$boto3" "$@" || over=1
}

# of_objects: CLUSTERS MEMBERS BYTES ADOPTED of each case.
of_objects() {
  cmake --build out/dev --target objects_bench >&2
  printf '| What | Objects | VmRSS grows by, MB | VmHWM grows by, MB |\n|---|---|---|---|\n'
  local of
  for of in "1000 3 1000 1" "1000 3 32000 1" "24 0 1300000 0" "48 0 1468006 0"; do
    # shellcheck disable=SC2086
    "$(find out/dev -name objects_bench -type f)" $of || over=1
  done
}

for part in $parts; do
  echo "== $part" >&2
  case $part in
  idle) in_a_world /usr/bin/python3 tools/bench.py --image out/image/etcd-operator.tar "$@" ;;
  clusters) in_a_world /usr/bin/python3 tools/bench_clusters.py --standin "$logs/standin" --logs "$logs" "$@" ;;
  holes) in_a_world /usr/bin/python3 tools/bench_clusters.py --standin "$logs/standin" --logs "$logs" --holes 100 "$@" ;;
  secrets) in_a_world /usr/bin/python3 tools/bench_secrets.py --log "$logs/manager-secrets.log" "$@" ;;
  snapshots) of_snapshots "$@" ;;
  objects) of_objects ;;
  esac
done
exit "$over"
