# shellcheck shell=bash
# Sourced by the contract scripts: counts tests into `passed` and `failed`.
passed=0 failed=0

# count_gtests LOG ENDED: counts a GoogleTest program's tests by its output and exit status. A crashed test has failed.
count_gtests() {
  local good bad
  good=$(awk '/^\[       OK \]/ {n++} END {print n + 0}' "$1")
  bad=$(awk '/^\[  FAILED  \] .* ms\)$/ {n++} END {print n + 0}' "$1")
  [ "$2" = 0 ] || [ "$bad" != 0 ] || bad=1
  passed=$((passed + good)) failed=$((failed + bad))
}

# count_one COMMAND...: runs it as one test.
count_one() {
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}
