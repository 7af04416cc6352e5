#!/bin/sh
# Writes the man pages and the completion scripts that packages have into build/packaging.
# DOGWOOD names a program that was built already.
set -eu
cd "$(dirname "$0")/.."
out=build/packaging
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"
if [ -z "${DOGWOOD:-}" ]; then
	DOGWOOD=$out/dogwood
	env -u GOOS -u GOARCH go build -o "$DOGWOOD" ./cmd/dogwood
fi
"$DOGWOOD" man "$out/man"
gzip -9n "$out"/man/*.1
"$DOGWOOD" completion bash >"$out/completions/dogwood.bash"
"$DOGWOOD" completion zsh >"$out/completions/_dogwood"
"$DOGWOOD" completion fish >"$out/completions/dogwood.fish"
rm -f "$out/dogwood"
