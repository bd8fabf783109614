#!/bin/bash
# A Kubernetes API without nodes, on free ports of 127.0.0.1 and in a folder of its own: etcd, kube-apiserver (RBAC,
# audit log in DIR/log/audit.log), kube-controller-manager. Several can run, also beside up.sh's cluster. Needs no root.
#   apionly.sh up DIR [MANIFEST...]   starts it and prints DIR/admin.kubeconfig. Manifests (CRDs) are applied before
#                                     the controller manager starts: its garbage collector then knows them at once.
#   apionly.sh account DIR NAMESPACE SERVICEACCOUNT FILE   writes a kubeconfig with that account's token.
#   apionly.sh down DIR               stops it and removes what it wrote; DIR too, if then empty.
set -euo pipefail
[ $# -ge 2 ] || {
  sed -n '2,8s/^# //p' "$0" >&2
  exit 2
}
verb=$1
mkdir -p "$2"
dir=$(cd "$2" && pwd)
shift 2
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=lib.sh
. "$cluster_dir/lib.sh"
STATE=$dir
API_IP=127.0.0.1
PATH=$(built k8s):$PATH
export PATH KUBECONFIG=$STATE/admin.kubeconfig KUBECACHEDIR=$STATE/kube-cache

# pick_ports: three free ports, kept in DIR/ports for the next call. They are below those that the kernel gives to programs, which
# could take one before its server starts.
pick_ports() {
  [ -s "$STATE/ports" ] || /usr/bin/python3 - >"$STATE/ports" <<'PYTHON'
import random, socket
sockets = []
while len(sockets) < 3:
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", random.randrange(10000, 32768)))
        sockets.append(s)
    except OSError:
        continue
print(*(s.getsockname()[1] for s in sockets))
PYTHON
  read -r API_PORT ETCD_PORT ETCD_PEER_PORT <"$STATE/ports"
}

up() {
  if [ ! -e "$(built k8s)/done" ] || [ ! -e "$(built "etcd-$ETCD_VERSION")/done" ]; then
    echo "apionly.sh: run tools/cluster/build.sh first" >&2
    exit 1
  fi
  pick_ports
  make_pki
  # 127.0.0.1 is not valid in an Endpoints object; without nodes no client reads it.
  start_api_server --endpoint-reconciler-type=none
  for manifest; do kubectl apply --server-side -f "$manifest" >>"$STATE/log/manifests.log"; done
  # Fast, because tests wait for it. Without the controllers that would delete Pods because their node does not answer, and without
  # the volume binder, which the tests' stand-in plays.
  start_controller_manager --kube-api-qps=500 --kube-api-burst=1000 --concurrent-gc-syncs=40 \
    --controllers="*,-node-lifecycle-controller,-pod-garbage-collector-controller,-taint-eviction-controller" \
    --controllers="-device-taint-eviction-controller,-node-ipam-controller,-node-route-controller" \
    --controllers="-cloud-node-lifecycle-controller,-persistentvolume-binder-controller"
  until_controllers_work
  echo "$KUBECONFIG"
}

# account NAMESPACE SERVICEACCOUNT FILE
account() {
  pick_ports
  rm -f "$3"
  kubeconfig "$3" --token="$(kubectl -n "$1" create token "$2" --duration=24h)"
  echo "$3"
}

case $verb in
up) up "$@" ;;
account) account "$@" ;;
down)
  [ ! -d "$STATE/pki" ] || stop_all
  rm -rf "$STATE"/{etcd,kube-cache,log,pki,run,ports} "$STATE"/*.kubeconfig
  rmdir "$STATE" 2>/dev/null || true
  ;;
*)
  echo "apionly.sh: no verb $verb" >&2
  exit 2
  ;;
esac
