#!/bin/sh
# Makes a release from the tag that is checked out, or a snapshot of any commit:
#
#	packaging/release.sh              publish a draft, with the image
#	packaging/release.sh --snapshot   only into dist/
#
# GPG_FINGERPRINT names the key that signs the checksums, and PACKAGE_KEY is the file of the one
# that signs .deb and .rpm. What has no key is not signed.
set -eu
cd "$(dirname "$0")/.."
skip=
[ -n "${GPG_FINGERPRINT:-}" ] || skip=sign
if [ "${1:-}" = --snapshot ]; then
	skip=${skip:+$skip,}docker
fi
REVISION=$(git rev-parse HEAD)
REVISION_DATE=$(TZ=UTC git show -s --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
REVISION_UNIX=$(git show -s --format=%ct)
export REVISION REVISION_DATE REVISION_UNIX
packaging/tool goreleaser release --clean ${skip:+--skip=$skip} "$@"
packaging/npm.sh
packaging/homebrew.sh >dist/dogwood.rb
