#!/bin/bash
# traces.sh SEEDS PRESET...: builds the simulated worlds of these presets. Fails unless the first SEEDS seeds give the same traces
# in all of them, with any compiler and flags.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh

seeds=$1
shift
# hashes PRESET: the hashes of the traces of these seeds.
hashes() { "out/$1/simulate" --seeds "1..$seeds" --hash | grep -v 'seeds\|passed'; }

want='' failed=''
for preset; do
  configure "$preset"
  ninja -C "out/$preset" -j "$jobs" --quiet simulate
  have=$(hashes "$preset")
  if [ -z "$have" ] || [ "$have" != "${want:-$have}" ]; then
    echo "out/$preset/simulate makes other traces than out/$1/simulate"
    failed=1
  fi
  want=${want:-$have}
done
[ -z "$failed" ]
