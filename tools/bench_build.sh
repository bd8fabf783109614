#!/bin/bash
# bench_build.sh [ROW...]: how long a change, and a stranger, wait: a table of these commands' times on this machine beside
# what they may take. Each is run in a clone of HEAD. Rows (all by default; the cold ones take two hours together):
#   test-cold, ci-cold, demo-cold   with empty caches (Debian's packages stay installed)
#   ci-warm, test-warm              with this user's caches; test-warm: for the second time, nothing has changed
#   fast                            ./dev test --fast after an edit of src/operator/cluster/plan.cc
# Fails if a command failed or took too long.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
rows=(fast test-warm ci-warm demo-cold ci-cold test-cold)
[ $# = 0 ] || rows=("$@")
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT
rm -rf out/test/bench
mkdir -p out/test/bench
over=0

# clone NAME: a clone of HEAD.
clone() { git clone --quiet . "$dir/$1"; }

# timed ROW SECONDS FOLDER COMMAND...: a line of the table.
timed() {
  local row=$1 limit=$2 folder=$3 start=$SECONDS ended=0
  shift 3
  (cd "$folder" && "$@") >"out/test/bench/$row.log" 2>&1 </dev/null || ended=$?
  local took=$((SECONDS - start))
  local said="good"
  if [ "$ended" != 0 ]; then
    said="ended with status $ended: out/test/bench/$row.log"
    cp -r "$folder/out/test" "out/test/bench/$row" # The clone goes.
  fi
  if [ "$took" -gt "$limit" ]; then said="TOO LONG, $said"; fi
  [ "$said" = good ] || over=1
  printf '%-10s %4d min %02d s   at most %4d s   %s\n' "$row" $((took / 60)) $((took % 60)) "$limit" "$said"
}
# cold COMMAND...: with caches of its own, which go.
cold() {
  local caches=$dir/caches
  XDG_CACHE_HOME=$caches CCACHE_DIR=$caches/ccache GOCACHE=$caches/go GOMODCACHE=$caches/gomod GOFLAGS=-modcacherw "$@"
  local ended=$?
  rm -rf "$caches"
  return "$ended"
}

for row in "${rows[@]}"; do
  clone "$row"
  tree=$dir/$row
  case $row in
  fast)
    (cd "$tree" && ./dev test --fast) >out/test/bench/before-fast.log 2>&1 </dev/null
    echo "[[maybe_unused]] static const char* const edited_at = \"$(date +%s%N)\";" >>"$tree/src/operator/cluster/plan.cc"
    timed fast 90 "$tree" ./dev test --fast
    ;;
  test-warm)
    (cd "$tree" && ./dev test) >out/test/bench/before-test-warm.log 2>&1 </dev/null
    timed test-warm 900 "$tree" ./dev test
    ;;
  ci-warm) timed ci-warm 1500 "$tree" .ci/run ;;
  demo-cold) timed demo-cold 900 "$tree" cold ./dev demo && (cd "$tree" && ./dev down) ;;
  ci-cold) timed ci-cold 3600 "$tree" cold .ci/run ;;
  test-cold) timed test-cold 2700 "$tree" cold ./dev test ;;
  *)
    echo "bench_build.sh: there is no row \"$row\"" >&2
    exit 2
    ;;
  esac
  rm -rf "$tree"
done
[ "$over" = 0 ]
