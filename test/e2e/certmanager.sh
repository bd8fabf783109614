#!/bin/bash
# certmanager.sh [ARGS of certmanager_cases.py]: cert-manager is installed after the operator, and the behaviour on which other
# cases rely, in an API server without nodes that this script starts; Pods are etcd processes. Without arguments it takes less than
# two minutes. Logs stay in out/test/cert-manager. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=../integration/operator.sh
. test/integration/operator.sh
manager=$PWD/out/dev/manager
logs=$PWD/out/test/cert-manager
mkdir -p "$logs"
tools/cluster/build.sh k8s "etcd-$ETCD_VERSION"
[ -x "$manager" ] || ./dev build dev
(cd test/integration/standin && go build -o "$logs/standin" .)
world=$(mktemp -d)
finish() {
  finish_play
  tools/cluster/apionly.sh down "$world" || true
  rm -rf "$world" "$logs/pods/volumes"
}
trap finish EXIT
tools/cluster/apionly.sh up "$world" charts/etcd-operator/files/crds/*.yaml >/dev/null
PATH=$(built k8s):$PATH
export PATH CLUSTER_STATE=$world KUBECONFIG=$world/admin.kubeconfig KUBECACHEDIR=$world/kube-cache
grant operator-under-test >"$logs/rbac.log"
play "$logs/standin" "$manager" "$logs/pods" late operator-under-test
/usr/bin/python3 test/e2e/certmanager_cases.py --control "$(cat "$logs/pods/control")" --version "$ETCD_VERSION" "$@"
