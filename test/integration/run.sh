#!/bin/bash
# run.sh [--all | FLAG...]: the API-only tests: an API server without nodes; the samples of the CRDs tried on it (samples.py);
# real etcd processes for Pods, and the operator killed at each of its writes. A third of the kill plans by default, chosen by a
# seed that is printed; --all runs them all. Other flags go to `standin plans` (main.go and plans.go there). Logs and recordings
# stay in out/test/integration. Ends with the line "N passed, N failed" and leaves no process.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
manager=$PWD/out/dev/manager
out=$PWD/out/test/integration
world=$(mktemp -d)
rm -rf "$out"
mkdir -p "$out"
finish() {
  tools/cluster/apionly.sh down "$world" || true
  rm -rf "$world" "$out/volumes"
}
trap finish EXIT

case ${1:-} in
--all) shift ;;
*) [[ " $* " == *" --third "* || " $* " == *" --only "* ]] || set -- --third "$((RANDOM + 1))" "$@" ;;
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

tools/cluster/build.sh k8s "etcd-$ETCD_VERSION"
[ -x "$manager" ] || ./dev build dev
tools/cluster/apionly.sh up "$world" charts/etcd-operator/files/crds/*.yaml
# What the CRDs accept and refuse.
KUBECONFIG=$world/admin.kubeconfig PATH=$(built k8s):$PATH test/integration/samples.py | tee "$out/samples.log" || true
read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out/samples.log" | tail -n 1) || true
passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
p='' f=''
flags=(--kubeconfig "$world/admin.kubeconfig" --dir "$out")
for version in $ETCD_VERSIONS; do
  [ ! -e "$(built "etcd-$version")/done" ] || flags+=(--etcd "$version=$(built "etcd-$version")")
done
addresses="--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0"
flags+=(--operator "$manager --kubeconfig {kubeconfig} --watch-namespace {namespace} $addresses")
PATH=$(built k8s):$PATH test/integration/samples.py | tee "$out/samples.log" || true
read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out/samples.log" | tail -n 1) || true
passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
p='' f=''
flags=(--kubeconfig "$world/admin.kubeconfig" --dir "$out")
for version in $ETCD_VERSIONS; do
  [ ! -e "$(built "etcd-$version")/done" ] || flags+=(--etcd "$version=$(built "etcd-$version")")
done
if [ -x "$manager" ]; then
  addresses="--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0"
  flags+=(--operator "$manager --kubeconfig {kubeconfig} --watch-namespace {namespace} $addresses")
fi
PATH=$(built k8s):$PATH "$out/standin" plans "${flags[@]}" "$@" | tee "$out/plans.log" || true
read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out/plans.log" | tail -n 1) || true
if [ -z "${f:-}" ]; then
  echo "the plans ended without counts"
  p=0 f=1
fi
echo "$((passed + p)) passed, $((failed + f)) failed"
[ "$((failed + f))" = 0 ]
