#!/bin/bash
# etcd_contract.sh [VERSION...] [--gtest_FLAG...]: runs etcd_contract_test against the real etcds of these versions (default: all of
# ETCD_VERSIONS), side by side. Without flags, etcd_fuzz also does 240 random operations on each and on the fake. Ends with the line
# "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=gtests.sh
. test/integration/gtests.sh
program=$PWD/out/asan/etcd_contract_test
fuzz=$PWD/out/asan/etcd_fuzz
out=$PWD/out/test/etcd-contract
rm -rf "$out"
mkdir -p "$out"
versions=() flags=()
for word; do
  case $word in
  --*) flags+=("$word") ;;
  *) versions+=("$word") ;;
  esac
done
# shellcheck disable=SC2206
[ "${#versions[@]}" != 0 ] || versions=($ETCD_VERSIONS)

running=()
finish() { for pid in "${running[@]}"; do kill "$pid" 2>/dev/null || true; done; }
trap finish EXIT
tools/cluster/build.sh "${versions[@]/#/etcd-}"
for version in "${versions[@]}"; do
  comes_first "$program" --programs="$(built "etcd-$version")" --version="$version" "${flags[@]}" >"$out/$version.log" 2>&1 &
  running+=($!)
done
for i in "${!versions[@]}"; do
  version=${versions[$i]}
  ended=0
  wait "${running[$i]}" || ended=$?
  count_gtests "$out/$version.log" "$ended"
  echo "--- etcd $version"
  cat "$out/$version.log"
done
running=()
if [ "${#flags[@]}" = 0 ]; then
  for version in "${versions[@]}"; do
    comes_first timeout 900 "$fuzz" --programs="$(built "etcd-$version")" --version="$version" --operations=240 &
    running+=($!)
  done
  for pid in "${running[@]}"; do count_one wait "$pid"; done
  running=()
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
