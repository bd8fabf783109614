#!/bin/bash
# fuzz.sh [--seconds N] [FUZZER...]: runs each libFuzzer program of test/fuzz, or the named ones (manifest, cron), for N seconds
# (600), one on each core. The corpus is kept in out/fuzz/corpus; a failing input is written to out/fuzz/findings/FUZZER-*. Runs of
# the same program add up, in seconds of the processor. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=env.sh
. tools/env.sh
seconds=600 names=()
while [ $# != 0 ]; do
  case $1 in
  --seconds) seconds=$2 && shift ;;
  -*)
    echo "fuzz.sh: there is no flag \"$1\"" >&2
    exit 2
    ;;
  *) names+=("$1") ;;
  esac
  shift
done
seeds=test/fuzz/corpus learned=$PWD/out/fuzz/corpus findings=$PWD/out/fuzz/findings
if [ ${#names[@]} = 0 ]; then mapfile -t names < <(ls "$seeds"); fi
for name in "${names[@]}"; do
  if [ ! -x "out/fuzz/${name}_fuzz" ]; then
    echo "fuzz.sh: there is no fuzzer \"$name\"" >&2
    exit 2
  fi
done
mkdir -p "$findings"

# one NAME: runs it; its output is in out/fuzz/NAME.log, and the seconds of the processor that it took in out/fuzz/NAME.seconds.
one() {
  local TIMEFORMAT=%U
  mkdir -p "$learned/$1"
  { time nice -n 10 "out/fuzz/$1_fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$findings/$1-" "$learned/$1" "$seeds/$1" >"out/fuzz/$1.log" 2>&1; } 2>"out/fuzz/$1.seconds"
}

mkdir -p "$CACHE/fuzz"
# runs NAME: the file with the runs of that program, as it was built: a line "SECONDS INPUTS" for each.
runs() { echo "$CACHE/fuzz/$1-$(sha256sum "out/fuzz/$1_fuzz" | cut -c1-16)"; }
# count NAME: what its runs add up to.
count() { awk '{s += $1; n += $2} END {printf "%d inputs in %d s of the processor by this program", n, s}' "$(runs "$1")"; }

passed=0 failed=0
# judge NAME PID
judge() {
  if wait "$2"; then
    local inputs
    inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' "out/fuzz/$1.log")
    echo "$(cat "out/fuzz/$1.seconds") $inputs" >>"$(runs "$1")"
    echo "$1: good, $inputs inputs; $(count "$1")"
    passed=$((passed + 1))
  else
    tail -n 40 "out/fuzz/$1.log"
    echo "$1: FAILED; again: out/fuzz/$1_fuzz $findings/$1-..."
    failed=$((failed + 1))
  fi
}
for ((i = 0; i < ${#names[@]}; i += jobs)); do
  pids=()
  for name in "${names[@]:i:jobs}"; do
    one "$name" &
    pids+=($!)
  done
  for at in "${!pids[@]}"; do judge "${names[i + at]}" "${pids[at]}"; done
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
