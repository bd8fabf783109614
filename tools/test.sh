#!/bin/bash
# test.sh [--fast | --all [--part K/N]]: the tests of the tree. Ends with a line for each stage, the lines that name failures,
# and the line "N passed, N failed" over all of them; fails if one failed. A stage that fails does not stop the others; what
# it said is in out/test/STAGE.log, too.
#
# Without a flag:
# - all units, with sanitizers and with branches counted;
# - 200 simulated worlds, one in 32 crash plans, the named scenarios without the longest, every small world;
# - contracts with real etcds (the newest patches of the two newest minor releases), API servers and object stores;
# - the operator on an API server alone, with one kill plan of each kind of write;
# - on real nodes: three members of the newest etcd; a killed node and a wiped member under clients; a secure cluster
#   restored in place.
# --fast: the units whose programs are new since they last passed, 100 worlds, the named scenarios without the slow ones,
# and every small world.
# --all: all stages of docs/dev/testing.md whole (the list is below). --part K/N: the K-th of N parts of them. Stages that
# passed on a commit are remembered, so that the last part can say whether all have.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=env.sh
. tools/env.sh
out=out/test
rm -rf "$out"
mkdir -p "$out"
marks=$(mktemp -d) # Not in $out, which another run in this tree removes.
trap 'rm -rf "$marks"' EXIT
: >"$out/summary"
: >"$out/failures"

# stage NAME COMMAND...: runs the command. Its counts are the last line "N passed, N failed" that it printed. An end
# without such a line, or an end in error without a failure counted, is one failure.
stage() {
  local name=$1 start=$SECONDS ended=0 p f
  shift
  echo "=== $name has begun: $out/$name.log"
  "$@" >"$out/$name.log" 2>&1 </dev/null || ended=$?
  read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$out/$name.log" | tail -n 1)
  if [ -z "${f:-}" ]; then
    echo "$name: ended with status $ended and no counts" >>"$out/$name.log"
    p=0 f=1
  elif [ "$ended" != 0 ] && [ "$f" = 0 ]; then
    echo "$name: ended with status $ended" >>"$out/$name.log"
    f=1
  fi
  {
    flock 9
    echo "=== $name"
    sed 's/^[0-9]* passed, [0-9]* failed$/(&)/' "$out/$name.log"
    printf '%-14s %5d s %6d passed %4d failed\n' "$name" $((SECONDS - start)) "$p" "$f" | tee -a "$out/summary"
  } 9>"$out/lock"
  touch "$marks/$name.ended"
  if [ "$f" = 0 ]; then remember "$name"; else failures "$name" >>"$out/failures"; fi
}
# failures STAGE: the first lines of its log that name a failure. They are told at the run's end, all that some readers see.
failures() {
  grep -E 'FAIL|ended with status' "$out/$1.log" | sort -u | head -n 8 | cut -c 1-400 | sed "s/^/$1: /" || true
}
# after STAGE: waits for the end of that stage, which another lane runs, or of this run.
after() { until [ -e "$marks/$1.ended" ] || [ -e "$marks/killed" ] || [ ! -e "$marks" ]; do sleep 1; done; }

# remember NAME: that stage passed on this commit.
passed_on=$CACHE/passed/$(git rev-parse HEAD)
remember() {
  [ -z "$all" ] || [ -n "$(git status --porcelain)" ] || { mkdir -p "$passed_on" && touch "$passed_on/$1"; }
}

# good COMMAND...: counts it as one.
good() {
  if "$@"; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; fi
}

# units [CTEST_FLAG...]: all that ctest knows, with sanitizers. Some mostly wait, so a few more run than there are processors.
units() {
  mkdir -p "$out/units"
  local ended=0
  GTEST_OUTPUT=xml:$PWD/$out/units/ ctest --test-dir out/asan -j $((jobs + 2)) --output-on-failure --no-tests=error \
    --output-junit "$PWD/$out/units.xml" "$@" || ended=$?
  /usr/bin/python3 tools/count_tests.py "$out/units.xml" "$out/units" || ended=$?
  return "$ended"
}
# new_units: those whose programs are newer than the end of their last run, if that was good.
new_units() {
  local stamp=out/asan/units-passed names=() name program
  while read -r name program; do
    if [ ! -e "$stamp/$name" ] || [ "$program" -nt "$stamp/$name" ]; then names+=("$name"); fi
  done < <(ctest --test-dir out/asan --show-only=json-v1 -L program | /usr/bin/python3 -c '
import json, sys
for test in json.load(sys.stdin)["tests"]: print(test["name"], test["command"][0])')
  echo "units whose programs are new since they last passed: ${names[*]:-none}"
  if [ "${#names[@]}" = 0 ]; then
    echo "0 passed, 0 failed"
    return
  fi
  units -R "^($(IFS='|' && echo "${names[*]}"))$" || return
  mkdir -p "$stamp"
  for name in "${names[@]}"; do touch "$stamp/$name"; done
}

# programs: the servers and the operator's image.
programs() {
  tools/cluster/build.sh && tools/cluster/build.sh versitygw && tools/cluster/images.sh && ./dev image
}
# all_programs: on a fresh machine each of them takes minutes, and leaves processors idle.
all_programs() {
  local ended=0
  programs &
  ./dev build dev asan || ended=1
  wait $! || ended=1
  return "$ended"
}
# real_nodes [ARGS of ./dev e2e]: leaves the local cluster as it was, up or down.
real_nodes() {
  local ended=0 was_up=
  [ ! -e "$STATE/admin.kubeconfig" ] || was_up=1
  ./dev e2e "$@" || ended=$?
  [ -n "$was_up" ] || ./dev down
  return "$ended"
}

# Lanes run side by side. Two mostly wait for servers, and end with the stages that compute most; what only computes gives way
# to them. Real nodes need no tree, and API servers one, so on a fresh machine they run while the rest is compiled.
contracts() {
  stage contract test/integration/etcd_contract.sh
  stage restores test/integration/restores.sh
  stage s3-contract test/integration/s3_contract.sh
  stage kube-contract test/integration/kube_contract.sh
  stage chart test/chart/chart_test.sh
}
clusters() {
  stage programs good programs
  stage real-nodes real_nodes --one-of-each
  after dev
  stage api-only test/integration/run.sh
}
compiled() {
  gives_way
  stage dev good ./dev build dev
  stage asan good ./dev build asan
}
computed() {
  gives_way
  stage units units
  stage coverage tools/coverage.sh
  stage simulation test/simulation/run.sh
}
# gives_way: this lane leaves the processors to the others.
gives_way() { renice -n 10 "$BASHPID" >/dev/null; }
# lane NAME: those stages, one after the other. A killed lane has stages that are not counted: one failure.
lane() {
  ("$1") || {
    touch "$marks/killed"
    printf '%-14s %5d s %6d passed %4d failed\n' "$1" 0 0 1 >>"$out/summary"
  }
}
fast_units() { stage units new_units; }
fast_worlds() { stage simulation test/simulation/run.sh --fast; }
by_default() {
  lane clusters &
  lane compiled
  after programs
  lane computed &
  lane contracts &
  wait
}

# mutants: of what changed since the last whole --all, which docs/dev/testing.md names; those by hand first.
mutants() {
  local since
  since=$(sed -n 's/^Last whole .* Commit: \([0-9a-f][0-9a-f]*\)\..*/\1/p' docs/dev/testing.md)
  ./dev mutate ${since:+--since "$since"} --every 20 --limit-minutes 15
}

# --all: in which lane, how many minutes, which name, which command. The stages of a lane run one after the other, the longest
# first; the lane that computes runs beside the one that waits for servers.
everything() {
  cat <<'END'
waits 45 real-nodes real_nodes
waits 30 api-only test/integration/run.sh --all
computes 30 lint good ./dev lint
computes 25 simulation test/simulation/run.sh --all
computes 15 mutants good mutants
computes 10 seeds tools/sim.sh --for 10m
computes 10 fuzz ./dev fuzz --seconds 60
computes 8 units units
computes 2 coverage tools/coverage.sh
waits 5 cert-manager test/e2e/certmanager.sh --renewals 1
waits 4 contract test/integration/etcd_contract.sh
waits 3 restores test/integration/restores.sh
waits 2 kube-contract test/integration/kube_contract.sh
waits 1 s3-contract test/integration/s3_contract.sh
waits 1 chart test/chart/chart_test.sh
END
}
# part K N LANE: the lines of that part and lane, without lane and minutes.
part() {
  everything | awk -v k="$1" -v n="$2" -v lane="$3" '
    $1 == lane { least = 1; for (i = 2; i <= n; ++i) if (sum[i] < sum[least]) least = i
      sum[least] += $2; if (least == k) { $1 = $2 = ""; print substr($0, 3) } }'
}
# of_part K N LANE: runs them.
of_part() {
  local line
  while read -r line; do
    # shellcheck disable=SC2086
    stage $line
  done < <(part "$1" "$2" "$3")
}
waits() { of_part "${share%/*}" "${share#*/}" waits; }
computes() {
  gives_way
  of_part "${share%/*}" "${share#*/}" computes
}
all_of_part() {
  stage build good all_programs
  lane waits &
  lane computes &
  wait
  local name missing=
  for name in $(everything | awk '{print $3}'); do [ -e "$passed_on/$name" ] || missing+=" $name"; done
  if [ -n "$missing" ]; then missing="not yet passed:$missing"; fi
  echo "all stages of commit $(git rev-parse --short HEAD): ${missing:-passed}"
}

all='' share=1/1
case ${1:-} in
'' | --fast) ;;
--all)
  all=1
  if [ "${2:-}" = --part ]; then share=${3:-}; fi
  ;;
*)
  echo "test.sh: there is no \"$1\"" >&2
  exit 2
  ;;
esac
if ! [[ $share =~ ^[1-9][0-9]*/[1-9][0-9]*$ ]] || [ "${share%/*}" -gt "${share#*/}" ]; then
  echo "test.sh: --part wants K/N, such as 1/3" >&2
  exit 2
fi
# newest_patches: of ETCD_VERSIONS, the newest patches of the two newest minor releases.
newest_patches() { tr ' ' '\n' <<<"$ETCD_VERSIONS" | sort -rV | sort -u -t. -k1,2 | sort -V | tail -n 2 | xargs; }
if [ -n "$all" ]; then
  PATH=$(built k8s):$PATH all_of_part
elif [ "${1:-}" = --fast ]; then
  stage build good ./dev build asan dev
  lane fast_units &
  lane fast_worlds &
  wait
else
  ETCD_VERSIONS=$(newest_patches)
  export ETCD_VERSIONS
  PATH=$(built k8s):$PATH by_default
fi
echo
cat "$out/summary" "$out/failures"
awk '{p += $4; f += $6} END {print p + 0 " passed, " f + 0 " failed"; exit f != 0 || p == 0}' "$out/summary"
