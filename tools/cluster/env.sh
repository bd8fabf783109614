# shellcheck shell=bash disable=SC2034
# Settings shared by the scripts here, and the folders of what they build. Sourced.
cluster_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
CACHE=${ETCDOP_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/etcd-operator}
STATE=${ETCDOP_STATE:-${XDG_STATE_HOME:-$HOME/.local/state}/etcd-operator}/cluster
export KUBECACHEDIR=$STATE/kube-cache # kubectl and helm would leave a trace in ~/.kube
NODES=${NODES:-3}                # how many nodes up.sh starts
POD_NET=198.18                   # pods: 198.18.I.0/24 on node I (198.18.0.0/15 is the benchmarking range)
SERVICE_CIDR=198.19.0.0/17
DNS_IP=198.19.0.10
NODE_NET=198.19.255              # .1 is this machine (API server), .1I is node I
API_IP=${API_IP:-$NODE_NET.1}    # where the API server listens
API_PORT=${API_PORT:-6443}
ETCD_PORT=${ETCD_PORT:-31379}    # the cluster's own etcd, on 127.0.0.1
ETCD_PEER_PORT=${ETCD_PEER_PORT:-31380}
PAUSE_IMAGE=registry.k8s.io/pause:3.10
K8S_VERSION=v1.36.3
ETCD_VERSION=3.6.16              # the one the cluster itself runs on
ETCD_VERSIONS=${ETCD_VERSIONS:-3.5.35 3.6.15 3.6.16 3.7.3} # those that the nodes have images of

# key FILE...: a short hash of the files' contents; names a cached artefact after its sources.
key() { cat "$@" | sha256sum | cut -c1-12; }

# built NAME: the folder with what build.sh makes of mods/NAME. Another source, Go or recipe gives another folder.
built() {
  local mod=$cluster_dir/mods/$1
  echo "$CACHE/$1-$({ echo "recipe 2"; go env GOVERSION; cat "$mod"/*; } | sha256sum | cut -c1-12)"
}

# images: the folder with the images that images.sh makes of those programs.
images() {
  local mod
  echo "$CACHE/images-$({
    for mod in "$cluster_dir"/mods/etcd-*; do built "${mod##*/}"; done
    built k8s
    cat "$cluster_dir"/{images,mkimage}.sh /bin/busybox
  } | sha256sum | cut -c1-12)"
}

# alive FILE: whether the process recorded in FILE (pid and start time, so that a reused pid is not taken for it) runs.
alive() {
  local pid started
  [ -s "$1" ] && read -r pid started <"$1" && [ "$(cut -d' ' -f22 "/proc/$pid/stat" 2>/dev/null)" = "$started" ]
}

# Linux shares the processors between sessions, whatever the niceness in another one. A server comes first: it is started as
# "${in_first_session[@]}" COMMAND...
# shellcheck disable=SC2016
in_first_session=(setsid bash -c 'echo -10 2>/dev/null >/proc/self/autogroup; exec "$@"' -)

# folders that a node mounts its own over; up.sh makes those that the machine lacks, down.sh removes them again
MOUNTPOINTS="/etc/cni /opt/local-path-provisioner /var/lib/cni /var/lib/containerd /var/lib/kubelet \
/var/log/containers /var/log/pods"
