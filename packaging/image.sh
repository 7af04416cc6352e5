#!/bin/sh
# Writes the files of the image besides the program into build/image: the user, the data
# directory, the certificates that it trusts and the licences.
set -eu
cd "$(dirname "$0")/.."
rm -rf build/image
mkdir -p build/image
cp -R packaging/docker/root/. build/image/
mkdir -p build/image/etc/ssl/certs
env -u GOOS -u GOARCH go run -C packaging ./cacerts >build/image/etc/ssl/certs/ca-certificates.crt
mkdir -p build/image/licenses
cp LICENSE THIRD_PARTY.txt build/image/licenses/
