#!/bin/bash
# run.sh [ARGS of cases.py]: the cases on real nodes. Started by ./dev e2e when the local cluster is up and the image is on its
# nodes.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=../../tools/cluster/env.sh
. ../../tools/cluster/env.sh
ETCDCTL=$(built "etcd-$ETCD_VERSION")/etcdctl AUDIT_LOG=$STATE/log/audit.log CLUSTER_STATE=$STATE
ETCDUTL=${ETCDCTL%ctl}utl VERSITYGW=$(built versitygw)/versitygw
../../tools/cluster/build.sh versitygw
export ETCDCTL ETCDUTL VERSITYGW AUDIT_LOG CLUSTER_STATE NODE_NET API_IP SERVICE_CIDR
./install.sh
/usr/bin/python3 cases.py "$@"
