#!/bin/bash
# test.sh [--fast | --ci]: every test of the tree, in stages from quick to real; a stage that fails does not stop the later
# ones. Each stage's output goes to out/test/STAGE.log, too. Ends with the line "N passed, N failed" over all stages
# and fails if one failed. --fast: the units, the named scenarios, and some of the simulated worlds. What needs a cluster
# fails when there is none. --ci: what CI has the time for, until tests are cheaper (docs/roadmap.md): no sanitizers and no count of
# branches, a quarter of the worlds, and of the real nodes not the cases that take longest.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=env.sh
. tools/env.sh
out=out/test
rm -rf "$out"
mkdir -p "$out"
passed=0 failed=0 summary=

# stage NAME COMMAND...: runs the command. Its counts are the last line "N passed, N failed" that it printed. An end
# without such a line, or an end in error without a failure counted, is one failure.
stage() {
  local name=$1 start=$SECONDS ended=0 p f
  shift
  echo "=== $name"
  "$@" 2>&1 </dev/null | tee "$out/$name.log" | sed -u "s/^[0-9]* passed, [0-9]* failed$/($name: &)/"
  ended=${PIPESTATUS[0]}
  read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out/$name.log" | tail -n 1)
  if [ -z "${f:-}" ]; then
    echo "$name: ended with status $ended and no counts"
    p=0 f=1
  elif [ "$ended" != 0 ] && [ "$f" = 0 ]; then
    echo "$name: ended with status $ended"
    f=1
  fi
  passed=$((passed + p)) failed=$((failed + f))
  summary+=$(printf '%-12s %4d s %6d passed %4d failed' "$name" $((SECONDS - start)) "$p" "$f")$'\n'
}

# units PRESET: builds and runs all that ctest knows.
units() {
  ./dev build "$1" || return
  mkdir -p "$out/$1"
  local ended=0
  GTEST_OUTPUT=xml:$PWD/$out/$1/ ctest --test-dir "out/$1" -j "$jobs" --output-on-failure --no-tests=error \
    --output-junit "$PWD/$out/$1.xml" || ended=$?
  /usr/bin/python3 tools/count_tests.py "$out/$1.xml" "$out/$1" || ended=$?
  return "$ended"
}

# The cluster's programs take minutes on a fresh machine: they are built beside the first stages.
build_cluster() {
  nice tools/cluster/build.sh && tools/cluster/images.sh
}
# on_cluster COMMAND...: runs it with kubectl and helm on PATH, if those programs are there.
on_cluster() {
  if [ "$cluster_built" != 0 ]; then
    echo "the cluster's programs could not be built; the end of $out/cluster-build.log:"
    tail -n 20 "$out/cluster-build.log"
    return 1
  fi
  PATH=$(built k8s):$(built helm):$PATH "$@"
}
# real_nodes: leaves the local cluster as it was, up or down.
real_nodes() {
  local ended=0 was_up=
  [ ! -e "$STATE/admin.kubeconfig" ] || was_up=1
  # These take minutes each: by hand, ./dev e2e, until there is the time (docs/roadmap.md).
  local skipped=(--skip healing --skip security)
  [ -z "$ci" ] || skipped+=(--skip restores --skip schedules --skip snapshots --skip soak)
  ./dev e2e "${skipped[@]}" || ended=$?
  [ -n "$was_up" ] || ./dev down
  return "$ended"
}

ci=''
case ${1:-} in
'' | --fast) ;;
--ci) ci=1 ;;
*)
  echo "test.sh: there is no \"$1\"" >&2
  exit 2
  ;;
esac
if [ "${1:-}" = --fast ]; then
  stage units units dev
  stage simulation test/simulation/run.sh --fast
else
  (build_cluster 2>&1 | tee "$out/cluster-build.log" | sed -un '/^\(build\|images\)\.sh/p') &
  cluster_build=$!
  stage units units dev
  if [ -z "$ci" ]; then
    stage sanitized units asan
    stage coverage tools/coverage.sh
  fi
  stage simulation test/simulation/run.sh ${ci:+--ci}
  wait "$cluster_build"
  cluster_built=$?
  stage contract on_cluster test/integration/etcd_contract.sh
  stage chart on_cluster test/chart/chart_test.sh
  stage s3-contract on_cluster test/integration/s3_contract.sh
  stage restores on_cluster test/integration/restores.sh
  stage kube-contract on_cluster test/integration/kube_contract.sh
  stage api-only on_cluster test/integration/run.sh
  stage cert-manager on_cluster test/e2e/certmanager.sh --renewals 1
  stage real-nodes on_cluster real_nodes
fi
echo
echo "$summary"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
