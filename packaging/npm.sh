#!/bin/sh
# Packs the npm packages dogwood and @dogwood/dogwood-* from the programs in dist/, and
# @dogwood/client, into dist/npm.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)
platforms=
for pair in linux-x64=linux_amd64_v1 linux-arm64=linux_arm64_v8.0 darwin-x64=darwin_amd64_v1 \
	darwin-arm64=darwin_arm64_v8.0 win32-x64=windows_amd64_v1 win32-arm64=windows_arm64_v8.0; do
	program=dist/dogwood_${pair#*=}/dogwood
	[ "${pair%%-*}" != win32 ] || program=$program.exe
	platforms="$platforms ${pair%%=*}=$program"
done
# shellcheck disable=SC2086 # they have no spaces
node packaging/npm/pack.mjs "$version" dist/npm $platforms
(cd client-js && npm run --silent build && npm pack --silent --pack-destination ../dist/npm)
