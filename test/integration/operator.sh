# shellcheck shell=bash
# An operator in an API-only world, for tests that are scripts. Source it from the tree's root, after tools/env.sh. KUBECONFIG is
# the world's API server; kubectl is on PATH.

# grant USER: gives USER exactly the operator's rights from the chart.
grant() {
  {
    printf 'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: %s}\n' "$1"
    cat charts/etcd-operator/files/rbac-manager.yaml
  } | kubectl apply -f -
  kubectl create clusterrolebinding "$1" --clusterrole="$1" --user="$1"
}

# play STANDIN MANAGER DIR NAMESPACE [USER]: until finish_play, the stand-in plays Pods with real etcd processes, and the Pods of
# Jobs, and runs the operator for that namespace, as that user. DIR/control has the address of its control interface, DIR/operator
# the operator's log, by name; the instance has the namespace's name.
play() {
  local dir=$3
  rm -rf "$dir"
  mkdir -p "$dir"
  local etcd
  etcd=$ETCD_VERSION=$(built "etcd-$ETCD_VERSION")
  "$1" serve --dir "$dir" --manager "$2" --etcd "$etcd" >"$dir/standin.log" 2>&1 &
  playing=$!
  for ((i = 0; i < 600; ++i)); do
    if [ -s "$dir/control" ] || ! kill -0 "$playing" 2>/dev/null; then break; fi
    sleep 0.2
  done
  if [ ! -s "$dir/control" ]; then
    echo "the stand-in does not answer:" >&2
    cat "$dir/standin.log" >&2
    return 1
  fi
  /usr/bin/python3 - "$(cat "$dir/control")" "$2" "$dir" "$4" "${5:-}" <<'PYTHON'
import json, sys, urllib.request
control, manager, folder, namespace, user = sys.argv[1:]
flags = ["--kubeconfig", "{kubeconfig}"] + [f"--{what}-bind-address=127.0.0.1:0"
                                            for what in ("metrics", "health-probe", "flight-recorder")]
flags.append("--operator-image=etcd-operator:under-test")
body = json.dumps({"name": namespace, "namespace": namespace, "actAs": user,
                   "command": [manager, *flags, "--watch-namespace", "{namespace}"]}).encode()
with urllib.request.urlopen(urllib.request.Request(f"http://{control}/instances", body), timeout=30) as answer:
    open(f"{folder}/operator", "w", encoding="utf-8").write(json.load(answer)["log"])
PYTHON
}

finish_play() {
  if [ -n "${playing:-}" ]; then
    kill "$playing" 2>/dev/null || true
    wait "$playing" || true
  fi
}
