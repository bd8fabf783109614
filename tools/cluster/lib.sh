# shellcheck shell=bash disable=SC2119,SC2154 # cluster_dir comes from env.sh
# Starts and stops a control plane (etcd, kube-apiserver, kube-controller-manager) in $STATE. Sourced, after env.sh, by up.sh (the
# cluster with nodes) and apionly.sh (a world of its own on 127.0.0.1).

# start NAME COMMAND...: runs it in the background unless it is running; its pid goes to run/NAME.pid.
start() {
  local name=$1
  shift
  if alive "$STATE/run/$name.pid"; then return; fi
  "${in_first_session[@]}" "$@" >>"$STATE/log/$name.log" 2>&1 </dev/null &
  echo "$! $(cut -d' ' -f22 "/proc/$!/stat")" >"$STATE/run/$name.pid"
}

# running NAME: whether start's process still runs; if not, prints the end of its log.
running() {
  alive "$STATE/run/$1.pid" && return
  echo "${0##*/}: $1 ended; the end of $STATE/log/$1.log:" >&2
  tail -n 5 "$STATE/log/$1.log" >&2
  return 1
}

# until_ok SECONDS NAME COMMAND...: repeats the command until it succeeds; gives up at once when process NAME has ended.
until_ok() {
  local end=$((SECONDS + $1)) name=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    running "$name" || return
    if ((SECONDS > end)); then
      echo "${0##*/}: timed out: $*" >&2
      return 1
    fi
    sleep 0.2
  done
}

# forget FILE: waits until the process recorded in FILE has ended, and removes the record.
forget() {
  for _ in {1..100}; do
    alive "$1" || break
    sleep 0.1
  done
  ! alive "$1" || echo "${0##*/}: $1 does not end" >&2
  rm -f "$1"
}

# stop_all: kills every process that `start` recorded and waits until each has ended. Nodes first: when a node's PID 1 ends,
# everything on the node ends and its mounts are freed.
stop_all() {
  local f pid child
  for f in "$STATE"/run/node*.pid "$STATE"/run/cert-manager.pid "$STATE"/run/kube-*.pid "$STATE"/run/etcd.pid; do
    alive "$f" || continue
    read -r pid _ <"$f"
    read -r child 2>/dev/null <"/proc/$pid/task/$pid/children" || true
    # A node's process waits for its PID 1, and that ends only after all its children.
    if [[ ${f##*/} == node* && -n ${child:-} ]]; then kill -KILL "${child%% *}"; else kill -KILL "$pid"; fi
  done
  for f in "$STATE"/run/*.pid; do forget "$f"; done
}

# any_alive: whether any process that `start` recorded runs.
any_alive() {
  local f
  for f in "$STATE"/run/*.pid; do
    if alive "$f"; then return 0; fi
  done
  return 1
}

# cert NAME SUBJECT [SUBJECT_ALT_NAMES]: pki/NAME.{crt,key}, signed by pki/ca.crt.
cert() {
  local pki=$STATE/pki
  [ ! -s "$pki/$1.crt" ] || return 0
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$pki/$1.key" -subj "$2" 2>/dev/null |
    openssl x509 -req -days 3650 -CA "$pki/ca.crt" -CAkey "$pki/ca.key" -CAcreateserial -out "$pki/$1.crt.new" \
      -extfile <(echo "extendedKeyUsage=clientAuth,serverAuth${3:+$'\n'subjectAltName=$3}") 2>/dev/null
  mv "$pki/$1.crt.new" "$pki/$1.crt"
}

# kubeconfig FILE CREDENTIALS...: a kubeconfig for this API server; CREDENTIALS as for `kubectl config set-credentials`.
kubeconfig() {
  local file=$1 k=(kubectl --kubeconfig "$1.new" config)
  shift
  [ ! -s "$file" ] || return 0
  {
    "${k[@]}" set-cluster c --server="https://$API_IP:$API_PORT" --certificate-authority="$STATE/pki/ca.crt" \
      --embed-certs
    "${k[@]}" set-credentials u "$@"
    "${k[@]}" set-context c --cluster=c --user=u
    "${k[@]}" use-context c
  } >>"$STATE/log/kubeconfig.log"
  mv "$file.new" "$file"
}

# cert_kubeconfig NAME SUBJECT: NAME.kubeconfig with a client certificate.
cert_kubeconfig() {
  cert "$1" "$2"
  kubeconfig "$STATE/$1.kubeconfig" --client-certificate="$STATE/pki/$1.crt" --client-key="$STATE/pki/$1.key" \
    --embed-certs
}

# make_pki: the cluster's CA, the service account key and the control plane's own certificates.
make_pki() {
  local ca=$STATE/pki/ca
  mkdir -p "$STATE"/{pki,log,run}
  if [ ! -s "$ca.crt" ]; then
    openssl ecparam -name prime256v1 -genkey -noout -out "$STATE/pki/sa.key"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=cluster-ca \
      -keyout "$ca.key" -out "$ca.crt" 2>/dev/null
  fi
  local names=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc
  names+=,DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:$API_IP,IP:${SERVICE_CIDR%.*}.1
  cert apiserver /CN=kube-apiserver "$names"
  cert apiserver-kubelet-client /O=system:masters/CN=kube-apiserver-kubelet-client
  cert front-proxy-client /CN=front-proxy-client
  cert_kubeconfig admin /O=system:masters/CN=admin
  cert_kubeconfig controller-manager /CN=system:kube-controller-manager
}

# start_api_server [FLAG...]: etcd and the API server; returns when it is ready. Its audit log is log/audit.log.
start_api_server() {
  local pki=$STATE/pki etcd
  etcd=$(built "etcd-$ETCD_VERSION")/etcd
  start etcd "$etcd" --data-dir "$STATE/etcd" --unsafe-no-fsync --log-level warn \
    --listen-client-urls "http://127.0.0.1:$ETCD_PORT" --advertise-client-urls "http://127.0.0.1:$ETCD_PORT" \
    --listen-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
    --initial-advertise-peer-urls "http://127.0.0.1:$ETCD_PEER_PORT" \
    --initial-cluster default="http://127.0.0.1:$ETCD_PEER_PORT"
  start kube-apiserver kube-apiserver --etcd-servers="http://127.0.0.1:$ETCD_PORT" \
    --bind-address="$API_IP" --advertise-address="$API_IP" --secure-port="$API_PORT" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" --client-ca-file="$pki/ca.crt" \
    --service-cluster-ip-range="$SERVICE_CIDR" --service-account-issuer=https://kubernetes.default.svc.cluster.local \
    --service-account-key-file="$pki/sa.key" --service-account-signing-key-file="$pki/sa.key" \
    --kubelet-client-certificate="$pki/apiserver-kubelet-client.crt" \
    --kubelet-client-key="$pki/apiserver-kubelet-client.key" --kubelet-preferred-address-types=InternalIP \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --requestheader-client-ca-file="$pki/ca.crt" --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- --proxy-client-cert-file="$pki/front-proxy-client.crt" \
    --proxy-client-key-file="$pki/front-proxy-client.key" --allow-privileged=true \
    --audit-policy-file="$cluster_dir/audit-policy.yaml" --audit-log-path="$STATE/log/audit.log" \
    --audit-log-maxsize=2000 "$@"
  until_ok 400 kube-apiserver kubectl get --raw=/readyz
}

# start_controller_manager [FLAG...]
start_controller_manager() {
  local pki=$STATE/pki
  start kube-controller-manager kube-controller-manager --kubeconfig="$STATE/controller-manager.kubeconfig" \
    --secure-port=0 --leader-elect=false --cluster-cidr="$POD_NET.0.0/16" --service-cluster-ip-range="$SERVICE_CIDR" \
    --use-service-account-credentials --service-account-private-key-file="$pki/sa.key" --root-ca-file="$pki/ca.crt" \
    --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" "$@"
}
# until_controllers_work
until_controllers_work() { until_ok 300 kube-controller-manager kubectl get serviceaccount default; }

# node_process I: the pid, seen from this machine, of node I's PID 1; fails when the node does not run.
node_process() {
  local pid child
  alive "$STATE/run/node$1.pid" || return
  read -r pid _ <"$STATE/run/node$1.pid"
  read -r child <"/proc/$pid/task/$pid/children" || true # no end of line there
  [ -n "$child" ] && echo "${child%% *}"
}
