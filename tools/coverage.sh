#!/bin/bash
# coverage.sh: how many branches of the deciding sources (etcdop_decides in CMake's files) the planners' tests take, as counted by
# their run in the build with sanitizers. Tests that did not run since their build are run. Fails when less than 95 % of a planner's
# branches were taken; prints the others. Ends with the line "N passed, N failed": one for each planner.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/asan
# shellcheck source=env.sh
. tools/env.sh
configure asan
planners=(cluster member defrag snapshot snapshot_schedule restore)
ninja -C "$out" -j "$jobs" --quiet "${planners[@]/%/_test}"
passed=0 failed=0
for planner in "${planners[@]}"; do
  here=$out/src/operator/$planner
  test=$here/${planner}_test
  counted=$here/$planner.profraw
  [ "$counted" -nt "$test" ] || LLVM_PROFILE_FILE=$counted "$test" --gtest_brief=1
  llvm-profdata-19 merge -o "$here/$planner.profile" "$counted"
  llvm-cov-19 export -instr-profile="$here/$planner.profile" --compilation-dir="$PWD/$out" --ignore-filename-regex='\.h$' \
    "$test" >"$here/$planner.json"
  if /usr/bin/python3 tools/coverage.py "$planner" "$here/$planner.json"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
