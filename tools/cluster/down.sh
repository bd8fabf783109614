#!/bin/bash
# down.sh: stops exactly what up.sh started and removes its files, networks and cgroups. Built programs and images stay.
set -uo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=lib.sh
. "$cluster_dir/lib.sh"
stop_all
for ns in $(ip netns list | grep -o '^k8s-node[0-9]*'); do
  ip link del "kube-n${ns#k8s-node}" 2>/dev/null
  ip netns del "$ns"
done
ip link del kube0 2>/dev/null
for _ in {1..20}; do # an emptied cgroup may stay busy for a moment
  shopt -s nullglob
  left=(/sys/fs/cgroup/k8s-node* /sys/fs/cgroup/*/k8s-node*)
  [ ${#left[@]} -gt 0 ] || break
  find "${left[@]}" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
done
if [ -s "$STATE/mountpoints" ]; then xargs rmdir <"$STATE/mountpoints" 2>/dev/null; fi
rm -rf "$STATE"
rmdir "${STATE%/*}" 2>/dev/null
exit 0
