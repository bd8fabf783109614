#!/bin/bash
# snapshots.sh STANDIN MANAGER DIR [USER]: EtcdSnapshots (snapshots.py) in an API-only world. KUBECONFIG is its API server, kubectl
# is on PATH. STANDIN plays its Pods with real etcd processes, and those of Jobs with MANAGER, which also is the operator, as that
# user. Logs go to DIR. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=operator.sh
. test/integration/operator.sh
dir=$3
trap finish_play EXIT
play "$1" "$2" "$dir" snapshots "${4:-}"
etcd=$(built "etcd-$ETCD_VERSION")
VERSITYGW=$(built versitygw)/versitygw ETCDCTL=$etcd/etcdctl ETCDUTL=$etcd/etcdutl
export VERSITYGW ETCDCTL ETCDUTL ETCD_VERSION
/usr/bin/python3 test/integration/snapshots.py "$dir"
