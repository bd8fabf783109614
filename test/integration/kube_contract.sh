#!/bin/bash
# kube_contract.sh [--kubeconfig FILE] [GTEST_FLAG...]: what our client takes for granted about Kubernetes, asked of a real
# kube-apiserver: that of FILE (namespaces contract-* come and go there), else one without nodes that is started for this.
# Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
program=$PWD/out/dev/kube_contract_test
[ -x "$program" ] || {
  echo "kube_contract.sh: build $program first (ninja -C out/dev kube_contract_test)" >&2
  exit 1
}
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
"$program" "$@" | tee "$log" || ended=$?
passed=$(grep -c '^\[       OK \]' "$log" || true)
failed=$(grep -c '^\[  FAILED  \] .* ms)$' "$log" || true)
[ "$ended" = 0 ] || [ "$failed" != 0 ] || failed=1 # It crashed.
rm -f "$log"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
