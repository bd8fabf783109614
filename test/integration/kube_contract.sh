#!/bin/bash
# kube_contract.sh [--kubeconfig FILE] [GTEST_FLAG...]: runs kube_contract_test against a real kube-apiserver: that of FILE
# (namespaces contract-* are created and deleted there), else one without nodes that this script starts. Without flags, kube_fuzz
# also sends 3000 random requests to both. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=gtests.sh
. test/integration/gtests.sh
program=$PWD/out/asan/kube_contract_test
if [ ! -x "$program" ] || [ ! -x out/asan/kube_fuzz ]; then
  echo "kube_contract.sh: build them first: ninja -C out/asan kube_contract_test kube_fuzz" >&2
  exit 1
fi
if [ "${1:-}" = --kubeconfig ]; then
  export KUBECONFIG=$2
  shift 2
else
  # shellcheck source=../../tools/env.sh
  . tools/env.sh
  world=$(mktemp -d)
  trap 'tools/cluster/apionly.sh down "$world" || true; rm -rf "$world"' EXIT
  tools/cluster/build.sh k8s "etcd-$ETCD_VERSION"
  tools/cluster/apionly.sh up "$world" charts/etcd-operator/files/crds/*.yaml
  export KUBECONFIG=$world/admin.kubeconfig
fi
log=$(mktemp)
ended=0
"$program" --kubeconfig="$KUBECONFIG" "$@" | tee "$log" || ended=$?
count_gtests "$log" "$ended"
rm -f "$log"
[ $# != 0 ] || count_one out/asan/kube_fuzz --kubeconfig="$KUBECONFIG" --operations=3000
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
