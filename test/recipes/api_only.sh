#!/bin/bash
# api_only.sh STANDIN MANAGER DIR: the recipes in an API-only world: KUBECONFIG is its API server, kubectl is on PATH, STANDIN plays
# its Pods with real etcd processes and runs MANAGER. Logs go to DIR. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
standin=$1 manager=$2 dir=$3
rm -rf "$dir"
mkdir -p "$dir"
"$standin" serve --dir "$dir" --etcd "$ETCD_VERSION=$(built "etcd-$ETCD_VERSION")" >"$dir/standin.log" 2>&1 &
serving=$!
trap 'kill "$serving" 2>/dev/null; wait "$serving" || true' EXIT
for ((i = 0; i < 100; ++i)); do
  [ ! -s "$dir/control" ] || break
  sleep 0.2
done
control=$(cat "$dir/control")
python3 - "$control" "$manager" "$dir" <<'PYTHON'
import json, sys, urllib.request
control, manager, folder = sys.argv[1:]
flags = ["--kubeconfig", "{kubeconfig}"] + [f"--{what}-bind-address=127.0.0.1:0"
                                            for what in ("metrics", "health-probe", "flight-recorder")]
body = json.dumps({"name": "recipes", "namespace": "recipes",
                   "command": [manager, *flags, "--watch-namespace", "{namespace}"]}).encode()
with urllib.request.urlopen(urllib.request.Request(f"http://{control}/instances", body), timeout=30) as answer:
    open(f"{folder}/operator", "w", encoding="utf-8").write(json.load(answer)["log"])
PYTHON
kubectl create namespace recipes >>"$dir/standin.log"
test/recipes/recipes.py --version "$ETCD_VERSION" --log "$(cat "$dir/operator")"
