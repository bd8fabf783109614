#!/bin/bash
# coverage.sh: runs the planners' tests in a build that counts branches. Fails when less than 95 % of the branches of the
# files that decide were taken; prints those that were not. Ends with the line "N passed, N failed": one for each planner.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/coverage
[ -e "$out/build.ninja" ] || cmake --preset coverage >/dev/null
# shellcheck source=env.sh
. tools/env.sh
ninja -C "$out" -j "$jobs" --quiet cluster_test member_test defrag_test
passed=0 failed=0
for planner in cluster member defrag; do
  folder=src/operator/$planner
  test=$out/$folder/${planner}_test
  LLVM_PROFILE_FILE=$out/$planner.raw "$test" >"$out/$planner.log"
  llvm-profdata-19 merge -o "$out/$planner.profile" "$out/$planner.raw"
  files=()
  for name in plan census conditions spec version_change alarms away health rule; do
    [ ! -e "$folder/$name.cc" ] || files+=("$folder/$name.cc")
  done
  llvm-cov-19 export -instr-profile="$out/$planner.profile" "$test" "${files[@]}" >"$out/$planner.json"
  if /usr/bin/python3 tools/coverage.py "$planner" "$out/$planner.json"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
