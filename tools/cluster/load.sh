#!/bin/bash
# load.sh IMAGE.tar...: imports images into every running node, and into nodes that up.sh starts later.
set -euo pipefail
# shellcheck source=env.sh
. "$(dirname "$0")/env.sh"
# shellcheck source=lib.sh
. "$cluster_dir/lib.sh"
any_alive || {
  echo "load.sh: the local cluster does not run (./dev up starts it)" >&2
  exit 1
}
mkdir -p "$STATE/images"
for image; do
  cp "$image" "$STATE/images/${image##*/}"
  for f in "$STATE"/run/node*.pid; do
    node=${f##*/node}
    node=${node%.pid}
    pid=$(node_process "$node") || continue
    nsenter --target="$pid" --mount ctr -n k8s.io images import --no-unpack "$STATE/images/${image##*/}" >/dev/null
  done
done
