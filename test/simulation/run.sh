#!/bin/bash
# run.sh [--fast | --ci]: the simulated worlds of every test run: seeds 1 to 2000, every crash plan, every named scenario, and the
# same trace for the same seed with and without optimisation (./dev lint compares g++, too). --fast: 150 seeds, one in 16 of the
# plans; --ci: 500 seeds, one in 4. Ends with the line "N passed, N failed".
set -uo pipefail
cd "$(dirname "$0")/../.." || exit
# shellcheck source=../../tools/env.sh
. tools/env.sh
seeds=2000 one_in=1 passed=0 failed=0
case ${1:-} in
'') ;;
--fast) seeds=150 one_in=16 ;;
--ci) seeds=500 one_in=4 ;;
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

[ -e out/sim/build.ninja ] || cmake --preset sim >/dev/null
ninja -C out/sim -j "$jobs" --quiet simulate scenarios || {
  echo "0 passed, 1 failed"
  exit 1
}
counted tools/sim.sh --seeds "1..$seeds"
counted tools/sim.sh --plans --one-in "$one_in"
counted tools/sim.sh --scenario all
if test/simulation/traces.sh sim dev; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
