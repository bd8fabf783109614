#!/bin/bash
# restores.sh [VERSION...]: the agents with real etcds of these versions (default: all of ETCD_VERSIONS) and a real store
# (restores.py). Ends with the line "N passed, N failed".
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=../../tools/env.sh
. tools/env.sh
# shellcheck disable=SC2086
[ $# != 0 ] || set -- $ETCD_VERSIONS
manager=$PWD/out/dev/manager
[ -x "$manager" ] || ./dev build dev
tools/cluster/build.sh versitygw "${@/#/etcd-}"
programs=()
for version; do programs+=("$version=$(built "etcd-$version")"); done
VERSITYGW=$(built versitygw)/versitygw ETCDUTL=$(built "etcd-$ETCD_VERSION")/etcdutl
export VERSITYGW ETCDUTL
comes_first /usr/bin/python3 test/integration/restores.py "$manager" "${programs[@]}" &
running=$!
trap 'kill "$running" && wait "$running"' EXIT # Interrupted: not before its etcds have ended.
ended=0
wait "$running" || ended=$?
trap - EXIT
exit "$ended"
