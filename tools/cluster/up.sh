#!/bin/bash
# up.sh: starts a real Kubernetes cluster of $NODES nodes on this machine, waits until it works, prints its kubeconfig.
# Run again: starts only what is not running. API_ONLY=1: only etcd, the API server and the controller manager.
# Needs what build.sh and images.sh make.
# shellcheck disable=SC2119
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=lib.sh
. "$cluster_dir/lib.sh"
k8s=$(built k8s)
images=$(images)
if [ ! -e "$k8s/done" ] || [ ! -e "$images/done" ]; then
  echo "up.sh: run tools/cluster/build.sh and tools/cluster/images.sh first (./dev up does)" >&2
  exit 1
fi
export KUBECONFIG=$STATE/admin.kubeconfig PATH=$k8s:$PATH
# Leftovers (say, of a reboot) are removed: a new cluster uses no parts of an old one.
if [ -d "$STATE" ] && ! any_alive; then "$cluster_dir/down.sh"; fi
make_pki

# The machine's side of the nodes' network.
if ! ip link show kube0 >/dev/null 2>&1; then
  ip link add kube0 type bridge
  ip addr add "$API_IP/24" dev kube0
  ip link set kube0 up
fi
start_api_server
start_controller_manager
if [ -n "${API_ONLY:-}" ]; then
  until_controllers_work
  echo "$KUBECONFIG"
  exit
fi
cert_kubeconfig scheduler /CN=system:kube-scheduler
cert_kubeconfig kube-proxy /CN=system:kube-proxy
start kube-scheduler kube-scheduler --kubeconfig="$STATE/scheduler.kubeconfig" --secure-port=0 --leader-elect=false

for d in $MOUNTPOINTS; do
  [ -d "$d" ] || echo "$d" >>"$STATE/mountpoints"
  mkdir -p "$d"
done
# start_node I: in a network namespace joined to the bridge; node.sh makes the rest.
start_node() {
  local i=$1 ns=k8s-node$1 ip=$NODE_NET.$((10 + $1))
  cert_kubeconfig "node$i" "/O=system:nodes/CN=system:node:node$i"
  if ! ip netns list | grep -qw "$ns"; then
    ip netns add "$ns"
    ip link add "kube-n$i" type veth peer name eth0 netns "$ns"
    ip link set "kube-n$i" master kube0 up
    ip -n "$ns" link set lo up
    ip -n "$ns" addr add "$ip/24" dev eth0
    ip -n "$ns" link set eth0 up
    ip -n "$ns" route add default via "$API_IP"
    ip route replace "$POD_NET.$i.0/24" via "$ip" # pods are reached from this machine, too
  fi
  start "node$i" nsenter --net="/run/netns/$ns" \
    unshare --mount --pid --uts --fork --kill-child --mount-proc \
    "$cluster_dir/node.sh" "$i" "$k8s" "$(built cni)" "$images"
}
for ((i = 1; i <= NODES; i++)); do start_node "$i"; done
for ((i = 1; i <= NODES; i++)); do
  for ((j = 1; j <= NODES; j++)); do
    [ "$i" = "$j" ] || ip -n "k8s-node$i" route replace "$POD_NET.$j.0/24" via "$NODE_NET.$((10 + j))"
  done
done
ip route replace "$SERVICE_CIDR" via "$NODE_NET.11" src "$API_IP" # this machine reaches Services through node 1

kubectl apply -f "$cluster_dir/manifests" >"$STATE/log/manifests.log"
until_controllers_work
for ((i = 1; i <= NODES; i++)); do
  until_ok 600 "node$i" kubectl get node "node$i"
  kubectl wait --for=condition=Ready "node/node$i" --timeout=600s >/dev/null
done
kubectl -n kube-system rollout status deployment/coredns --timeout=600s >/dev/null
# A cluster that was started for fewer versions of etcd (./dev demo) gets the images that were made since.
mapfile -t newer < <(find "$images" -name '*.tar' -newer "$STATE/node1/imported")
if [ "${#newer[@]}" != 0 ]; then
  "$cluster_dir/load.sh" "${newer[@]}"
  for ((i = 1; i <= NODES; i++)); do touch "$STATE/node$i/imported"; done
fi
echo "$KUBECONFIG"
