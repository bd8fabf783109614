#!/bin/bash
# soak.sh --rounds N [--seed TEXT] [--version V]: 1→3→5→3→1 under kills, N times. Started by ./dev soak.
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=../../tools/cluster/env.sh
. ../../tools/cluster/env.sh
ETCDCTL=$(built "etcd-$ETCD_VERSION")/etcdctl CLUSTER_STATE=$STATE
export ETCDCTL CLUSTER_STATE NODE_NET API_IP SERVICE_CIDR
./install.sh
/usr/bin/python3 soak.py "$@"
