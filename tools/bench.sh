#!/bin/bash
# bench.sh [--idle SECONDS]: memory, CPU, start time and sizes against their budgets, in an API-only world. Started by ./dev bench.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=cluster/env.sh
. tools/cluster/env.sh
tools/cluster/build.sh k8s "etcd-$ETCD_VERSION" >&2
./dev image >&2
dir=$(mktemp -d)
trap 'tools/cluster/apionly.sh down "$dir" || true; rm -rf "$dir"' EXIT
tools/cluster/apionly.sh up "$dir" charts/etcd-operator/files/crds/*.yaml >/dev/null
PATH=$(built k8s):$PATH /usr/bin/python3 tools/bench.py --kubeconfig "$dir/admin.kubeconfig" --manager out/release/manager \
  --image out/image/etcd-operator.tar "$@"
