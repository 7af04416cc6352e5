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
	# Without any tag, GoReleaser would not look for the revision.
	git describe --tags --abbrev=0 >/dev/null 2>&1 || export GORELEASER_CURRENT_TAG=v0.0.0
fi
packaging/tool goreleaser release --clean ${skip:+--skip=$skip} "$@"
packaging/npm.sh
packaging/homebrew.sh >dist/dogwood.rb
