# shellcheck shell=bash
# Sourced by the contract scripts: counts tests into `passed` and `failed`.
passed=0 failed=0

# count_gtests LOG ENDED: those of a GoogleTest program, by its output and exit status. One that crashed has failed.
count_gtests() {
  local bad
  passed=$((passed + $(grep -c '^\[       OK \]' "$1" || true)))
  bad=$(grep -c '^\[  FAILED  \] .* ms)$' "$1" || true)
  [ "$2" = 0 ] || [ "$bad" != 0 ] || bad=1
  failed=$((failed + bad))
}

# count_one COMMAND...: runs it as one test.
count_one() {
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}
