#!/bin/sh
# Prints the Homebrew formula of the release in dist/, with its checksums.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)
sum() {
	awk -v name="dogwood_${version}_$1.tar.gz" '$2 == name { print $1; found = 1 } END { exit !found }' dist/checksums.txt
}
sed -e "s/@VERSION@/$version/g" \
	-e "s/@DARWIN_AMD64@/$(sum darwin_amd64)/" -e "s/@DARWIN_ARM64@/$(sum darwin_arm64)/" \
	-e "s/@LINUX_AMD64@/$(sum linux_amd64)/" -e "s/@LINUX_ARM64@/$(sum linux_arm64)/" \
	packaging/homebrew/dogwood.rb.in
