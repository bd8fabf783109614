#!/bin/bash
# run.sh [--fast | --all]: simulated worlds: seeds 1 to 200, one in 32 crash plans, every named scenario except the crash plans
# and the one of a whole day, and every small world of the planners. --fast: 100 seeds, the short named scenarios and the small
# worlds; --all: 2000 seeds, every plan, every scenario, and equal traces for equal seeds in the build that is not optimised but
# sanitized. Ends with the line "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
# shellcheck source=../../tools/env.sh
. tools/env.sh
seeds=200 one_in=32 scenarios='*-ScenarioOfCrashes.*:*ADayLater' passed=0 failed=0
case ${1:-} in
'') ;;
--fast) seeds=100 one_in='' scenarios='*-ScenarioOfCrashes.*:*S40_*:*S52_*:*Hundred*:EtcdChaos.*' ;;
--all) seeds=2000 one_in=1 scenarios=all ;;
*)
  echo "run.sh: there is no \"$1\"" >&2
  exit 2
  ;;
esac

# counted COMMAND...: adds the counts of its last line; an end without counts is a failure.
counted() {
  local p f log
  log=$(mktemp)
  "$@" | tee "$log" | sed -u 's/^[0-9]* passed, [0-9]* failed$/(&)/'
  read -r p f < <(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
  rm -f "$log"
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
}

configure dev
ninja -C out/dev -j "$jobs" --quiet simulate scenarios small_worlds || {
  echo "0 passed, 1 failed"
  exit 1
}
counted tools/sim.sh --seeds "1..$seeds"
counted tools/sim.sh --scenario "$scenarios"
if out/dev/small_worlds --gtest_brief=1; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
[ -z "$one_in" ] || counted tools/sim.sh --plans --one-in "$one_in"
if [ "$one_in" = 1 ]; then
  if test/simulation/traces.sh 2 dev asan; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
