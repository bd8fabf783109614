#!/bin/bash
# sim.sh [--seed N | --seeds A..B | --for 30m [--next]] [--plans [--one-in N]] [--scenario NAME] [SIM_FLAG...]: simulated worlds, on
# all cores. --seed: one world; --seeds: a range, both ends included; --for: worlds for that long, from a random first seed on; with
# --next after the last seed that ran on the same sources, if they are committed, until one fails: such runs add up; --plans:
# every crash plan, or one in N; --scenario: the tests of sim/scenarios with NAME in their name, "all" for all; other flags go to
# the program (--faults LIST, --trouble SECONDS, --trace, --hash). Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=env.sh
. tools/env.sh
program=out/dev/simulate
flags=(--commit "$(git describe --always --dirty 2>/dev/null || echo unknown)")
seeds='' for='' next='' plans='' one_in=1 scenario=''
while [ $# != 0 ]; do
  case $1 in
  --seed | --seeds) seeds=$2 && shift ;;
  --for) for=$2 && shift ;;
  --next) next=1 ;;
  --scenario) scenario=$2 && shift ;;
  --plans) plans=1 ;;
  --one-in) one_in=$2 && shift ;;
  *) flags+=("$1") ;;
  esac
  shift
done
out=$(mktemp -d)
running=()
finish() {
  for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done
  # Ended from outside: show what it was doing. The folder is removed even if that fails.
  [ ${#running[@]} = 0 ] || tail -n 20 "$out"/* || true
  rm -rf "$out"
}
trap finish EXIT

# in_seconds 30m: 1800
in_seconds() {
  case $1 in
  *h) echo $((${1%h} * 3600)) ;;
  *m) echo $((${1%m} * 60)) ;;
  *) echo "${1%s}" ;;
  esac
}
# go_on: blocks of seeds after those that ran on these sources; the ledger has a line "FIRST LAST PASSED FAILED" for each.
go_on() {
  local ledger last passed failed said end=$((SECONDS + $(in_seconds "${for:-1h}")))
  if [ -n "$(git status --porcelain src api sim)" ]; then
    echo "sim.sh: --next: src, api and sim must be committed" >&2
    exit 2
  fi
  # A name for what is committed there but for unit tests.
  ledger=$CACHE/seeds/$(git ls-tree -r HEAD -- src api sim | grep -v '_test\.cc$' | sha256sum | cut -c1-16)
  mkdir -p "$CACHE/seeds"
  touch "$ledger"
  failed=0
  while [ "$SECONDS" -lt "$end" ] && [ "$failed" = 0 ]; do
    last=$(awk 'END {print $2 + 400}' "$ledger")
    said=$(tools/sim.sh --seeds "$((last - 399))..$last" --brief) || true
    passed='' failed=''
    read -r passed failed < <(tail -n 1 <<<"$said" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p') || true
    passed=${passed:-0} failed=${failed:-1} # It crashed.
    [ "$failed" = 0 ] || cat <<<"$said"
    echo "$((last - 399)) $last $passed $failed" >>"$ledger"
  done
  awk '{p += $3; f += $4} END {printf "seeds 1..%d of these sources:\n%d passed, %d failed\n", $2, p, f; exit f > 0}' "$ledger"
}
# worker I: every $jobs-th seed, or plan, from the I-th on.
worker() {
  if [ -n "$plans" ]; then
    "$program" --plans --from "$(($1 * one_in))" --every "$((jobs * one_in))" "${flags[@]}"
  elif [ -n "$for" ]; then
    local at=$((first + $1))
    while [ "$SECONDS" -lt "$end" ]; do
      "$program" --seeds "$at..$((at + 200 * jobs - 1))" --every "$jobs" "${flags[@]}" || [ $? = 1 ] || return 3
      at=$((at + 200 * jobs))
    done
  else
    "$program" --seeds "$((${seeds%%..*} + $1))..${seeds##*..}" --every "$jobs" "${flags[@]}"
  fi
}

if [ -n "$scenario" ]; then
  [ "$scenario" != all ] || scenario=
  for ((i = 0; i < jobs; ++i)); do
    GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$i out/dev/scenarios --gtest_filter="*$scenario*" >"$out/$i" 2>&1 &
    running+=($!)
  done
  ended=0
  for pid in "${running[@]}"; do wait "$pid" || ended=$?; done
  running=()
  cat "$out"/*
  # ran PASSED: the number, over all shards.
  ran() { cat "$out"/* | sed -n "s/^\[  $1  \] \([0-9]*\) tests\?[.,].*/\1/p" | awk '{n += $1} END {print n + 0}'; }
  passed=$(ran PASSED) failed=$(ran FAILED)
  [ "$ended" = 0 ] || [ "$failed" != 0 ] || failed=1 # It crashed.
  [ $((passed + failed)) != 0 ] || failed=1          # No such test.
  echo "$passed passed, $failed failed"
  [ "$failed" = 0 ]
  exit
fi
if [ -n "$next" ]; then
  go_on
  exit
fi
[ -n "$plans$for$seeds" ] || seeds=1..1000
if [ -n "$seeds" ] && [ "${seeds%%..*}" = "${seeds##*..}" ]; then
  exec "$program" --seeds "$seeds" "${flags[@]}"
fi
first=$((RANDOM * 32768 + RANDOM))
end=$((SECONDS + $(in_seconds "${for:-0}")))
[ -z "$for" ] || echo "sim.sh: seeds from $first on"
for ((i = 0; i < jobs; ++i)); do
  worker "$i" >"$out/$i" 2>&1 &
  running+=($!)
done
ended=0
for pid in "${running[@]}"; do wait "$pid" || ended=$?; done
running=()
# numbers EXPRESSION: what this sed expression prints for all output, one or two numbers per line.
numbers() { cat "$out"/* | sed -n "$1"; }
cat "$out"/* | grep -v '^[0-9]* passed, [0-9]* failed$\|^[0-9]* seeds, ' || true
numbers 's/ seeds, .*//p' |
  awk -v s="$SECONDS" '{n += $1} END {if (n > 0) printf "%d seeds in %d s, %.1f a second\n", n, s, n / (s > 0 ? s : 1)}'
read -r passed failed < <(numbers 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' |
  awk '{p += $1; f += $2} END {print p + 0, f + 0}')
[ "$ended" = 0 ] || [ "$failed" != 0 ] || failed=1 # It crashed.
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
