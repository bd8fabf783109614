#!/bin/bash
# images.sh: makes the images that the nodes import, from the programs of build.sh and Debian's busybox-static.
# No registry, no daemon. A second run finds them there, and adds those of other ETCD_VERSIONS.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
images=$(images)
# all_made: whether this run has nothing to do.
all_made() {
  local v
  for v in $ETCD_VERSIONS; do [ -e "$images/etcd-$v.tar" ] || return; done
  [ -e "$images/done" ]
}
if all_made; then exit; fi
mkdir -p "$images"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# image FILE NAME CONFIG DIR=FILES... : FILES are copied to DIR of the image, unless it is there.
image() {
  local out=$images/$1.tar name=$2 config=$3
  shift 3
  [ ! -e "$out" ] || return 0
  echo "images.sh: $out"
  rm -rf "$tmp/root"
  mkdir -p "$tmp/root"/{etc,tmp}
  chmod 1777 "$tmp/root/tmp"
  printf 'root:x:0:0:root:/:/\nnonroot:x:65532:65532:nonroot:/:/\n' >"$tmp/root/etc/passwd"
  printf 'root:x:0:\nnonroot:x:65532:\n' >"$tmp/root/etc/group"
  for spec; do
    mkdir -p "$tmp/root${spec%%=*}"
    # shellcheck disable=SC2086
    cp -a ${spec#*=} "$tmp/root${spec%%=*}/"
  done
  "$cluster_dir/mkimage.sh" "$out.new" "$name" "$tmp/root" "$config"
  mv "$out.new" "$out"
}

cat >"$tmp/pause.c" <<'C'
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int s) { (void)s; _exit(0); }
static void reap(int s) { (void)s; while (waitpid(-1, 0, WNOHANG) > 0); }
int main(void) {
  signal(SIGTERM, end);
  signal(SIGINT, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
C
gcc -Os -static -s -o "$tmp/pause" "$tmp/pause.c"
image pause "$PAUSE_IMAGE" '{"User":"65535:65535","Entrypoint":["/pause"]}' "/=$tmp/pause"

for v in $ETCD_VERSIONS; do # laid out as upstream's: no shell, root unless the pod says otherwise
  etcd=$(built "etcd-$v")
  mkdir -p "$tmp/empty"
  image "etcd-$v" "quay.io/coreos/etcd:v$v" \
    '{"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "Cmd": ["/usr/local/bin/etcd"],
      "WorkingDir": "/var/lib/etcd/", "ExposedPorts": {"2379/tcp": {}, "2380/tcp": {}}}' \
    "/usr/local/bin=$etcd/etcd $etcd/etcdctl $etcd/etcdutl" "/var/lib/etcd=$tmp/empty/."
done

mkdir -p "$tmp/bin"
cp /bin/busybox "$tmp/bin/"
while read -r applet; do ln -sf busybox "$tmp/bin/$applet"; done < <(/bin/busybox --list | grep -vx busybox)
image busybox docker.io/library/busybox:latest '{"Env":["PATH=/bin"],"Cmd":["sh"]}' "/bin=$tmp/bin/."
image coredns registry.k8s.io/coredns/coredns:v1.14.2 '{"Entrypoint":["/coredns"]}' "/=$(built k8s)/coredns"
image local-path docker.io/rancher/local-path-provisioner:v0.0.30 '{"Entrypoint":["/local-path-provisioner"]}' \
  "/=$(built k8s)/local-path-provisioner"
touch "$images/done"
