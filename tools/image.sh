#!/bin/bash
# image.sh: writes out/image/etcd-operator.tar, the operator's image as a docker-archive: FROM scratch, /manager and the
# CA bundle. No daemon; the same binary gives the same bytes. Run by ./dev image, which has built the binary.
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(.* VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=ghcr.io/cozystack/etcd-operator:$version
out=out/image
# Once for each build: what the program contains, and whether it is as hardened as it was asked to be.
if [ ! "$out/sbom.spdx.json" -nt out/release/manager ]; then
  test/image/hardening_test.py out/release/manager
  mkdir -p "$out"
  tools/sbom.py out/release >"$out/sbom.new"
  test/image/sbom_test.py "$out/sbom.new"
  mv "$out/sbom.new" "$out/sbom.spdx.json"
fi
rm -rf "$out/root"
install -D -m 0755 out/release/manager "$out/root/manager"
install -D -m 0644 /etc/ssl/certs/ca-certificates.crt "$out/root/etc/ssl/certs/ca-certificates.crt"
chmod 0755 "$out/root" "$out"/root/etc{,/ssl,/ssl/certs}
tools/cluster/mkimage.sh "$out/etcd-operator.tar" "$name" "$out/root" '{"User": "65532:65532", "Entrypoint": ["/manager"]}'
echo "image: $out/etcd-operator.tar is $name, $(stat -c %s "$out/etcd-operator.tar") bytes"
