#!/bin/bash
# s3_contract.sh [GTEST_FLAG...]: runs s3_contract_test against versitygw. Without flags, s3_fuzz also sends 3000 random calls to
# both. Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck source=gtests.sh
. test/integration/gtests.sh
program=$PWD/out/asan/s3_contract_test
if [ ! -x "$program" ] || [ ! -x out/asan/s3_fuzz ]; then
  echo "s3_contract.sh: build them first: ninja -C out/asan s3_contract_test s3_fuzz" >&2
  exit 1
fi
tools/cluster/build.sh versitygw
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ended=0
"$program" --program="$(built versitygw)/versitygw" "$@" | tee "$log" || ended=$?
count_gtests "$log" "$ended"
[ $# != 0 ] || count_one out/asan/s3_fuzz --program="$(built versitygw)/versitygw" --operations=3000
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
