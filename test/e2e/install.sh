#!/bin/bash
# install.sh: installs the chart with this tree's image and waits until the operator is ready. Needs kubectl and helm on PATH.
set -euo pipefail
cd "$(dirname "$0")/../.."
helm upgrade --install etcd-operator charts/etcd-operator --namespace "${OPERATOR_NAMESPACE:-etcd-operator-system}" \
  --create-namespace --set image.pullPolicy=Never "$@" --wait --timeout 10m >/dev/null
