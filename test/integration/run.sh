#!/bin/bash
# run.sh [--all | FLAG...]: the API-only tests, on an API server without nodes: the samples of the CRDs (samples.py), and their rule
# about names (names.py); the operator with the chart's rights (installed.py); the recipes of operations (test/recipes); snapshots
# (snapshots.py); real etcd processes as Pods, and the operator killed at its writes; a healthy cluster beside a hundred black holes
# (holes.py). By default one kill plan of each kind of write of each flow runs, by a fixed seed, without those that kill after
# the answer; --all runs all of them, --sample SEED others. Other flags go to `standin plans` (main.go and plans.go there). Logs and
# recordings stay in out/test/integration. Ends with the line "N passed, N failed" and leaves no process.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=operator.sh
. test/integration/operator.sh
manager=$PWD/out/dev/manager
out=$PWD/out/test/integration
world=$(mktemp -d)
rm -rf "$out"
mkdir -p "$out"
finish() {
  if [ -n "${beside:-}" ]; then
    kill "$beside" 2>/dev/null || true
    wait "$beside" || true
  fi
  tools/cluster/apionly.sh down "$world" || true
  rm -rf "$world" "$out/volumes"
}
trap finish EXIT

case ${1:-} in
--all) shift ;;
*) [[ " $* " == *" --sample "* || " $* " == *" --only "* ]] || set -- --sample 1 "$@" ;;
esac

# The stand-in's own tests.
cd test/integration/standin
unformatted=$(gofmt -l .)
unit_ended=0
go test -v ./... >"$out/unit.log" || unit_ended=$?
go build -o "$out/standin" .
cd - >/dev/null
passed=$(grep -c '^--- PASS' "$out/unit.log" || true)
failed=$(grep -c '^--- FAIL' "$out/unit.log" || true)
if [ -n "$unformatted" ]; then
  echo "gofmt: $unformatted"
  failed=$((failed + 1))
fi
if [ "$unit_ended" != 0 ]; then
  grep -v '^\(=== \|--- PASS\|ok\|?\)' "$out/unit.log" || true
  [ "$failed" != 0 ] || failed=1
fi

tools/cluster/build.sh k8s helm versitygw "etcd-$ETCD_VERSION"
[ -x "$manager" ] || ./dev build dev
tools/cluster/apionly.sh up "$world" charts/etcd-operator/files/crds/*.yaml
PATH=$(built k8s):$(built helm):$PATH
export PATH KUBECONFIG=$world/admin.kubeconfig KUBECACHEDIR=$world/kube-cache

# counted NAME COMMAND...: runs it and adds the counts of its last line "N passed, N failed"; an end without that line is a failure.
counted() {
  local name=$1 p f
  shift
  "$@" | tee "$out/$name.counted" || true
  read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out/$name.counted" | tail -n 1) || true
  if [ -z "${f:-}" ]; then
    echo "$name ended without counts"
    p=0 f=1
  fi
  passed=$((passed + p)) failed=$((failed + f))
}

# in_its_own_world COMMAND...: a stand-in plays, and counts, all Pods of its API server, so each stand-in needs its own.
in_its_own_world() (
  own=$(mktemp -d)
  trap 'tools/cluster/apionly.sh down "$own" >/dev/null || true; rm -rf "$own"' EXIT
  trap 'exit 1' TERM
  tools/cluster/apionly.sh up "$own" charts/etcd-operator/files/crds/*.yaml >/dev/null
  export KUBECONFIG=$own/admin.kubeconfig KUBECACHEDIR=$own/kube-cache
  "$@"
)
# others: snapshots of clusters with and without secrets, into volumes and an object store; a hundred black holes that delay no
# other cluster.
others() {
  local passed=0 failed=0
  grant "$user" >"$out/rbac-of-others.log"
  counted snapshots test/integration/snapshots.sh "$out/standin" "$manager" "$out/snapshots" "$user"
  counted holes test/integration/holes.py "$out/standin" "$manager" "$out/holes"
  echo "$passed passed, $failed failed"
}
user=operator-under-test
in_its_own_world others >"$out/others.log" 2>&1 &
beside=$!

# The samples that the CRDs accept and refuse.
counted samples test/integration/samples.py
counted names test/integration/names.py

# The chart's rights suffice for the operator; access to its metrics.
counted installed test/integration/installed.py "$manager"

# The commands and log lines of the Go operator's operations guide.
counted recipes test/recipes/api_only.sh "$out/standin" "$manager" "$out/recipes"

# The operator has exactly the rights that the chart gives it.
grant "$user" >"$out/rbac.log"

addresses="--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0 --flight-recorder-bind-address=127.0.0.1:0"
image=--operator-image=etcd-operator:under-test
flags=(--dir "$out" --act-as "$user" --manager "$manager"
  --operator "$manager --kubeconfig {kubeconfig} --watch-namespace {namespace} $image $addresses")
for version in $ETCD_VERSIONS; do
  [ ! -e "$(built "etcd-$version")/done" ] || flags+=(--etcd "$version=$(built "etcd-$version")")
done
counted plans "$out/standin" plans "${flags[@]}" "$@"

wait "$beside" || true
beside=
counted others cat "$out/others.log"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
