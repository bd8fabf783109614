#!/bin/bash
# node.sh I K8S CNI IMAGES: Kubernetes node I of these folders' programs and images, run by up.sh as PID 1 of its own
# pid, mount, net and uts namespaces. Killing this process kills the whole node (containerd, kubelet, kube-proxy, every
# pod), like pulling the plug.
set -euo pipefail
i=$1 k8s=$2 cni=$3 images=$4
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
name=node$i ip=$NODE_NET.$((10 + i)) dir=$STATE/node$i

hostname "$name"
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock
for d in $MOUNTPOINTS; do
  mkdir -p "$dir$d"
  mount --bind "$dir$d" "$d"
done
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mkdir -p "/sys/fs/cgroup/k8s-$name"
else
  for c in /sys/fs/cgroup/*/; do mkdir -p "$c/k8s-$name"; done
fi
# A booted machine has no cgroups of earlier containers. The kubelet would spend seconds on each of them.
find /sys/fs/cgroup/{,*/}"k8s-$name" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || true
echo 1 >/proc/sys/net/ipv4/ip_forward

mkdir -p /etc/cni/net.d
cat >/etc/cni/net.d/10-bridge.conflist <<EOF
{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$POD_NET.$i.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
EOF
cat >"$dir/containerd.toml" <<EOF
version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$PAUSE_IMAGE"
  restrict_oom_score_adj = true # this machine may lack CAP_SYS_RESOURCE
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$cni"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
EOF
cat >"$dir/kubelet.yaml" <<EOF
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $ip
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $STATE/pki/ca.crt}}
authorization: {mode: Webhook}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /k8s-$name
failCgroupV1: false
failSwapOn: false
seccompDefault: true
clusterDomain: cluster.local
clusterDNS: [$DNS_IP]
resolvConf: ""
imageGCHighThresholdPercent: 100
evictionHard: {nodefs.available: "0%", nodefs.inodesFree: "0%", imagefs.available: "0%", imagefs.inodesFree: "0%"}
nodeStatusUpdateFrequency: 4s
EOF
cat >"$dir/kube-proxy.yaml" <<EOF
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
bindAddress: $ip
clientConnection: {kubeconfig: $STATE/kube-proxy.kubeconfig}
clusterCIDR: $POD_NET.0.0/16
mode: iptables
hostnameOverride: $name
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
EOF

export PATH=$k8s:$PATH
containerd --config "$dir/containerd.toml" >"$dir/containerd.log" 2>&1 &
until ctr version >/dev/null 2>&1; do sleep 0.2; done
for image in "$images"/*.tar "$STATE"/images/*.tar; do # those of load.sh, too
  if [ -e "$image" ] && [ ! "$image" -ot "$dir/imported" ]; then
    ctr -n k8s.io images import --no-unpack "$image" >>"$dir/import.log" 2>&1
  fi
done
touch "$dir/imported"
kubelet --config="$dir/kubelet.yaml" --kubeconfig="$STATE/$name.kubeconfig" --hostname-override="$name" \
  --node-ip="$ip" --v=2 >"$dir/kubelet.log" 2>&1 &
kube-proxy --config="$dir/kube-proxy.yaml" >"$dir/kube-proxy.log" 2>&1 &
wait -n # until the first of them ends
echo "node.sh: a process of $name ended" >&2
exit 1
