#!/bin/bash
# upgrade.sh OLD_MANAGER: this tree's operator takes over from that one, on an API server without nodes (upgrade.py). To have the
# manager of an earlier commit: git worktree add DIR COMMIT, and ./dev build dev in DIR. Ends with the line "N passed, N failed".
set -euo pipefail
old=$(realpath "${1:?a manager of an earlier commit}")
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
manager=$PWD/out/dev/manager
[ -x "$manager" ] || ./dev build dev
tools/cluster/build.sh k8s "etcd-$ETCD_VERSION"
PATH=$(built k8s):$PATH
out=$PWD/out/test/upgrade
rm -rf "$out"
mkdir -p "$out"
(cd test/integration/standin && go build -o "$out/standin" .)
world=$(mktemp -d)
trap 'tools/cluster/apionly.sh down "$world" || true; rm -rf "$world"' EXIT
tools/cluster/apionly.sh up "$world" charts/etcd-operator/files/crds/*.yaml
export KUBECONFIG=$world/admin.kubeconfig KUBECACHEDIR=$world/kube-cache
/usr/bin/python3 test/integration/upgrade.py "$out/standin" "$old" "$manager" "$out" "$ETCD_VERSION=$(built "etcd-$ETCD_VERSION")"
