#!/bin/bash
# cert-manager in a running cluster: its CRDs, and its controllers for CA and self-signed issuers (mods/cert-manager) as
# a process beside the control plane, logging to log/cert-manager.log. `down` of apionly.sh and down.sh end it, too.
#   certmanager.sh crds [DIR]   installs the CRDs alone.
#   certmanager.sh up [DIR]     installs the CRDs, starts the controllers, and returns when they have seen all there is.
#   certmanager.sh stop [DIR]   stops the controllers: what they made stays, and nothing is renewed.
#   certmanager.sh down [DIR]   stops them and removes the CRDs with all Issuers and Certificates. Secrets stay.
# DIR: a world of apionly.sh. By default it is the cluster of up.sh.
set -euo pipefail
[ $# -ge 1 ] || {
  sed -n '2,8s/^# //p' "$0" >&2
  exit 2
}
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=lib.sh
. "$cluster_dir/lib.sh"
STATE=${2:-$STATE}
cert_manager=$(built cert-manager)
if [ ! -e "$STATE/admin.kubeconfig" ]; then
  echo "certmanager.sh: no cluster runs in $STATE" >&2
  exit 1
fi
"$cluster_dir/build.sh" cert-manager
PATH=$(built k8s):$PATH
export PATH KUBECONFIG=$STATE/admin.kubeconfig KUBECACHEDIR=$STATE/kube-cache
record=$STATE/run/cert-manager.pid

crds() {
  # By the server: two of them are too large for the annotation that kubectl would leave.
  kubectl apply --server-side -f "$cert_manager/crds" >>"$STATE/log/manifests.log"
  kubectl wait --for=condition=Established --timeout=60s -f "$cert_manager/crds" >>"$STATE/log/manifests.log"
}

up() {
  local pid
  crds
  start cert-manager "$cert_manager/cert-manager" --kubeconfig="$KUBECONFIG" -v=2
  read -r pid _ <"$record"
  until_ok 60 cert-manager grep -q "process $pid is ready" "$STATE/log/cert-manager.log"
}

stop() {
  local pid
  if alive "$record"; then
    read -r pid _ <"$record"
    kill "$pid"
  fi
  forget "$record"
}

# gone: waits until the API server has none of the CRDs. In 4 of 40 rounds of up and down an empty CRD stayed until something
# changed it (Kubernetes 1.36; in CI for more than two minutes). So the remaining CRDs are touched now and then.
gone() {
  local left round
  for ((round = 1; round <= 300; round++)); do
    left=$(kubectl get --ignore-not-found -o name -f "$cert_manager/crds")
    [ -n "$left" ] || return 0
    if ((round % 5 == 0)); then
      # shellcheck disable=SC2086 # one argument each
      kubectl annotate --overwrite $left "etcd-operator-test/left=$SECONDS" >>"$STATE/log/manifests.log" 2>&1 || true
    fi
    sleep 1
  done
  # shellcheck disable=SC2086
  kubectl get -o yaml $left | sed -n '/^  status:/,$p' >&2
  echo "certmanager.sh: still there: $left" >&2
  return 1
}

case $1 in
crds) crds ;;
up) up ;;
stop) stop ;;
down)
  stop
  kubectl delete --ignore-not-found --wait=false -f "$cert_manager/crds" >>"$STATE/log/manifests.log"
  gone
  ;;
*)
  echo "certmanager.sh: no verb $1" >&2
  exit 2
  ;;
esac
