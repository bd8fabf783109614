#!/bin/bash
# demo.sh [--yes]: a three-member etcd, live, on the local cluster of three nodes. If KUBECONFIG names another cluster, it asks (not
# with --yes) and then uses that cluster, with the operator's image IMAGE=REPOSITORY:TAG. It may be run again; ./dev down removes
# the local cluster and everything in it.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=env.sh
. tools/env.sh
ns=etcd-demo cluster=demo version=3.6.16 image=out/image/etcd-operator.tar
kinds=etcdclusters.etcd-operator.cozystack.io

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
k() { kubectl -n "$ns" "$@"; }

# choose_cluster [--yes]: sets KUBECONFIG, PATH, and for the last lines `access` (how to reach the cluster) and `cleanup`.
choose_cluster() {
  # ./dev up tells its user to export the local cluster's KUBECONFIG; it means the local cluster even if the file is missing.
  if [ "${KUBECONFIG:-$STATE/admin.kubeconfig}" != "$STATE/admin.kubeconfig" ]; then
    other_cluster "$@"
    return
  fi
  say "Local cluster: three nodes on this machine (the first time, its programs and the operator are built: minutes)"
  ./dev image >/dev/null &
  image_made=$!
  access=$(ETCD_VERSIONS=$version ./dev up | sed 's/^/  /')
  cleanup="./dev down                                   # removes the local cluster and all in it"
  local_one=1
  export KUBECONFIG=$STATE/admin.kubeconfig PATH
  PATH=$(built k8s):$PATH
}

# other_cluster [--yes]: choose_cluster for a cluster that is not local. Its nodes cannot be given an image: they pull IMAGE.
other_cluster() {
  local context answer=y
  if ! [[ ${IMAGE:-} =~ ^.+:[^:/]+$ ]]; then
    cat >&2 <<EOF
demo: push the operator's image, $PWD/$image (./dev image writes it), to where the cluster of KUBECONFIG finds it, and name it:
  skopeo copy docker-archive:$PWD/$image docker://REGISTRY/etcd-operator:TAG && IMAGE=REGISTRY/etcd-operator:TAG ./dev demo
EOF
    exit 1
  fi
  unset KUBECACHEDIR # ./dev down is not for this cluster
  tools/cluster/build.sh k8s
  export PATH
  PATH=$(built k8s):$PATH
  context=$(kubectl config current-context)
  if [ "${1:-}" != --yes ]; then
    read -r -p "Install the operator ($IMAGE) and a demo cluster into \"$context\" of KUBECONFIG? [y/N] " answer
  fi
  [[ $answer == [yY]* ]] || exit 1
  access="  export KUBECONFIG=$KUBECONFIG"
  cleanup="kubectl delete namespace $ns               # then: helm -n etcd-operator-system uninstall etcd-operator; CRDs stay"
}

install_operator() {
  say "Operator: image and chart"
  if [ -n "${local_one:-}" ]; then
    wait "$image_made"
    tools/cluster/load.sh "$image"
    test/e2e/install.sh
  else
    helm upgrade --install etcd-operator charts/etcd-operator -n etcd-operator-system --create-namespace \
      --set-string "image.repository=${IMAGE%:*},image.tag=${IMAGE##*:}" --wait
  fi
  kubectl -n etcd-operator-system get pods
}

# Name, version, role and readiness of each member; nothing that changes by itself.
member_rows='.items[] | [.metadata.name, (.status.version // "-"), (if .status.isVoter then "voter" else "joining" end),
  (if any(.status.conditions[]?; .type == "Ready" and .status == "True") then "ready" else "starting" end)] | @tsv'

# settled N: waits until the cluster has N members ready, and shows each change of its table.
settled() {
  local start=$SECONDS now before=
  while :; do
    now=$(k get etcdmembers.etcd-operator.cozystack.io -o json 2>/dev/null | jq -r "$member_rows" | column -t || true)
    if [ "$now" != "$before" ]; then
      printf -- '--- after %d s\n%s\n' $((SECONDS - start)) "$now"
      before=$now
    fi
    if k get "$kinds" "$cluster" -o json | jq -e --argjson n "$1" '.status.readyMembers == $n and .status.observed.replicas == $n
        and any(.status.conditions[]; .type == "Progressing" and .reason == "Reconciled")' >/dev/null; then
      printf '%d members are ready after %d s\n' "$1" $((SECONDS - start))
      return
    fi
    if ((SECONDS - start > 180)); then
      k describe "$kinds" "$cluster" >&2
      echo "demo: not $1 members within 180 s" >&2
      return 1
    fi
    sleep 0.5
  done
}

# etcdctl ARGS...: in its own Pod, through the client Service, as an application does.
etcdctl() {
  local pod=client-$RANDOM
  k run "$pod" --image="quay.io/coreos/etcd:v$version" --restart=Never --command -- \
    etcdctl "--endpoints=http://$cluster-client.$ns.svc:2379" --command-timeout=10s "$@" >/dev/null
  k wait --for=jsonpath='{.status.phase}'=Succeeded "pod/$pod" --timeout=60s >/dev/null
  k logs "$pod"
  k delete pod "$pod" --wait=false >/dev/null
}

# leader: the leader's Pod, according to etcd's own endpoint status.
leader() {
  local pod
  # The founder's Pod is made once more, and its first one may still be listed as completed.
  for pod in $(k get pods -l "etcd-operator.cozystack.io/cluster=$cluster" --field-selector=status.phase=Running -o name); do
    if k exec "$pod" -- etcdctl endpoint status -w json | jq -e '.[0].Status | .leader == .header.member_id' >/dev/null; then
      echo "$pod"
      return
    fi
  done
  return 1
}

choose_cluster "$@"
install_operator

say "A cluster of three: kubectl apply"
kubectl create namespace "$ns" --dry-run=client -o yaml | kubectl apply -f - >/dev/null
cat <<EOF | tee /dev/stderr | k apply -f -
apiVersion: etcd-operator.cozystack.io/v1alpha2
kind: EtcdCluster
metadata:
  name: $cluster
spec:
  replicas: 3
  version: $version
EOF
settled 3
k get "$kinds"

say "A key, written and read through the client Service"
etcdctl put greeting "hello from etcd"
etcdctl get greeting

say "Five members"
k scale "$kinds" "$cluster" --replicas=5
settled 5

say "And three again: followers go first, and the quorum holds"
k scale "$kinds" "$cluster" --replicas=3
settled 3

victim=$(leader)
say "The leader's Pod is deleted: $victim"
k delete "$victim" --wait=false
etcdctl get greeting
settled 3

say "That was it. What to try next"
cat <<EOF
$access
  kubectl -n $ns get etcdclusters,etcdmembers,pods
  kubectl -n $ns describe etcdcluster $cluster
  kubectl -n $ns scale etcdcluster $cluster --replicas=1
  kubectl -n $ns delete etcdmember NAME        # it is replaced, then removed
  kubectl -n etcd-operator-system logs deploy/etcd-operator -f
  $cleanup
EOF
