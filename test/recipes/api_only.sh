#!/bin/bash
# api_only.sh STANDIN MANAGER DIR: the recipes in an API-only world. KUBECONFIG is its API server, kubectl is on PATH, STANDIN plays
# its Pods with real etcd processes and runs MANAGER. Logs go to DIR. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=../integration/operator.sh
. test/integration/operator.sh
dir=$3
trap finish_play EXIT
play "$1" "$2" "$dir" recipes
kubectl create namespace recipes >>"$dir/standin.log"
test/recipes/recipes.py --version "$ETCD_VERSION" --log "$(cat "$dir/operator")"
