#!/bin/bash
# run.sh [ARGS of cases.py]: the cases on real nodes. Started by ./dev e2e: the local cluster is up, the image is on its nodes.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=../../tools/cluster/env.sh
. ../../tools/cluster/env.sh
ETCDCTL=$(built "etcd-$ETCD_VERSION")/etcdctl AUDIT_LOG=$STATE/log/audit.log
export ETCDCTL AUDIT_LOG
./install.sh
/usr/bin/python3 cases.py "$@"
