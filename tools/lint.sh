#!/bin/bash
# lint.sh [--quick]: every check that does not run the program. All steps run, also after a failed one. --quick: without the three
# slowest: the header check, clang-tidy and g++.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=env.sh
. tools/env.sh
failed=""
quick=${1:-}
case $quick in
'' | --quick) ;;
*)
  echo "lint.sh: there is no \"$quick\"" >&2
  exit 2
  ;;
esac

# step NAME COMMAND...
step() {
  local name=$1 start=$SECONDS
  shift
  if "$@"; then
    echo "lint: $name: good, $((SECONDS - start)) s"
  else
    echo "lint: $name: FAILED, $((SECONDS - start)) s"
    failed+=" $name"
  fi
}

# tracked PATTERN...: the tree's files, also those not yet added.
tracked() { git ls-files -co --exclude-standard "$@"; }

format() { tracked '*.h' '*.cc' | xargs clang-format-19 --dry-run --Werror; }
shell() { tracked '*.sh' dev .ci/run | xargs shellcheck; }

# generated: writing the generated files again changes nothing.
generated() {
  local state
  state() { git diff; tracked --others | xargs sha256sum; }
  state=$(state | sha256sum)
  ./dev gen || return
  [ "$state" = "$(state | sha256sum)" ] || {
    echo "generated files were not fresh; ./dev gen has written them now: commit them"
    git status --short
    return 1
  }
}

step format format
step rules /usr/bin/python3 tools/tidy/tidy.py
step shell shell
step generated generated
step zones tools/zones.py --check
if [ -z "$quick" ]; then
  step build ./dev build asan dev
  step headers /usr/bin/python3 tools/lint/headers.py out/dev
  step clang-tidy /usr/bin/python3 tools/lint/clang_tidy.py "$CACHE/clang-tidy" out/asan out/dev
  step g++ ./dev build gcc
  step traces test/simulation/traces.sh 12 dev gcc
fi
[ -z "$failed" ] || echo "lint: failed:$failed"
[ -z "$failed" ]
