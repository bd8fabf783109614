#!/bin/bash
# run.sh [--all | FLAG...]: the API-only tests, on an API server without nodes: the samples of the CRDs (samples.py), and their rule
# about names (names.py); the operator with the chart's rights (installed.py); the recipes of operations (test/recipes); snapshots
# (snapshots.py); real etcd processes as Pods, and the operator killed at its writes. By default one kill plan of each kind of
# write of each flow runs, by a fixed seed, without those that kill after the answer; --sample SEED takes others. --all runs all of
# them, and a healthy cluster beside a hundred black holes (holes.py), which each run of the simulated worlds has. Other flags go to
# `standin plans` (main.go and plans.go there). Logs and recordings stay in out/test/integration. Ends with the line "N passed, N
# failed" and leaves no process.
# shellcheck disable=SC2030,SC2031 # in_its_own_world counts in its subshell.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=operator.sh
. test/integration/operator.sh
manager=$PWD/out/dev/manager
out=$PWD/out/test/integration
user=operator-under-test
rm -rf "$out"
mkdir -p "$out"
running=() # Process groups.
finish() {
  for pid in "${running[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
  for pid in "${running[@]}"; do wait "$pid" || true; done
  rm -rf "$out/volumes"
}
trap finish EXIT

all=''
case ${1:-} in
--all) all=1 && shift ;;
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

tools/cluster/build.sh k8s versitygw "etcd-$ETCD_VERSION"
[ -x "$manager" ] || ./dev build dev
PATH=$(built k8s):$PATH

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

# in_its_own_world FUNCTION [ARG...]: a stand-in plays, and counts, all Pods of its API server, so each stand-in needs its own.
# The world counts for itself, in a subshell, and prints its counts.
in_its_own_world() (
  world=$(mktemp -d)
  trap 'tools/cluster/apionly.sh down "$world" || true; rm -rf "$world"' EXIT
  trap 'exit 1' TERM
  tools/cluster/apionly.sh up "$world" charts/etcd-operator/files/crds/*.yaml
  export KUBECONFIG=$world/admin.kubeconfig KUBECACHEDIR=$world/kube-cache
  local passed=0 failed=0
  "$@"
  echo "$passed passed, $failed failed"
)

# Inputs that the CRDs accept and refuse; their rule about names; whether the chart's rights suffice, and access to metrics; the
# commands and log lines of the Go operator's operations guide.
inputs() {
  counted samples test/integration/samples.py
  counted names test/integration/names.py
  counted installed test/integration/installed.py "$manager"
  counted recipes test/recipes/api_only.sh "$out/standin" "$manager" "$out/recipes"
}

# Snapshots of clusters with and without secrets, into volumes and an object store.
snapshots() {
  grant "$user"
  counted snapshots test/integration/snapshots.sh "$out/standin" "$manager" "$out/snapshots" "$user"
  [ -z "$all" ] || counted holes test/integration/holes.py "$out/standin" "$manager" "$out/holes"
}

# plans FLAG...: real etcd processes as Pods; the operator, with exactly the chart's rights, is killed at its writes.
plans() {
  grant "$user"
  local addresses="--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0"
  addresses+=" --flight-recorder-bind-address=127.0.0.1:0 --operator-image=etcd-operator:under-test"
  local flags=(--dir "$out" --act-as "$user" --manager "$manager"
    --operator "$manager --kubeconfig {kubeconfig} --watch-namespace {namespace} $addresses")
  for version in $ETCD_VERSIONS; do
    [ ! -e "$(built "etcd-$version")/done" ] || flags+=(--etcd "$version=$(built "etcd-$version")")
  done
  counted plans "$out/standin" plans "${flags[@]}" "$@"
}

worlds=(plans inputs snapshots)
set -m
for name in "${worlds[@]}"; do
  [ "$name" = plans ] || set --
  in_its_own_world "$name" "$@" >"$out/$name.log" 2>&1 &
  running+=($!)
done
set +m
for i in "${!worlds[@]}"; do
  ended=0
  wait "${running[$i]}" || ended=$?
  counted "of-${worlds[$i]}" cat "$out/${worlds[$i]}.log"
  # A world that came to its end has status 0, whatever it counted. If it broke, its last counts are those of a part.
  if [ "$ended" != 0 ]; then
    echo "${worlds[$i]} ended with status $ended"
    failed=$((failed + 1))
  fi
done
running=()

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
