#!/bin/sh
# Runs every test: ./test.sh. Parts of it: ./test.sh quick, ./test.sh e2e.
# Needs Go and Node, and Chromium ($CHROMIUM, else the one in PATH) for what runs in a
# browser; installs npm packages into testdata/e2e and client-js.
set -eu
cd "$(dirname "$0")"
part=${1:-all}

step() { printf '\n== %s\n' "$*"; }

# Tests keep their files in memory if there is plenty: what they show does not depend on
# the disk, for which they would wait thousands of times. TMPDIR=/tmp ./test.sh keeps
# them on disk.
memory=
bin=
trap 'rm -rf "$bin" "$memory"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
kib=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ -z "${TMPDIR:-}" ] && [ "${kib:-0}" -gt 8000000 ]; then
	# Always the same name: otherwise "go test" would have no results cached.
	memory=/dev/shm/dogwood-$(id -u)-$(pwd | cksum | cut -d ' ' -f 1)
	mkdir -m 700 "$memory" 2>/dev/null || [ -O "$memory" ] || memory=
	# Not where programs cannot be run, as in many containers: tests run some from there.
	if [ "$memory" ] && cp /bin/true "$memory/run" && "$memory/run" 2>/dev/null; then
		export TMPDIR="$memory"
		step "temporary files are in $memory"
	fi
fi

unit() {
	step "go vet"
	go vet ./...
	step "Go tests"
	go test -parallel 4 ./server ./cmd/dogwood ./... # the longest first, and tests that wait beside others
}

more() {
	step "model: 100,000 random operations through every door"
	DOGWOOD_MODEL_STEPS=100000 go test -count=1 -run '^TestModel' ./server
	if command -v "$(go env CC)" >/dev/null; then
		step "Go tests with the race detector"
		# Where something is concurrent, the longest first, and the models for a few steps, which
		# have run; "make race" takes all packages.
		DOGWOOD_MODEL_STEPS=400 CGO_ENABLED=1 go test -race -short -parallel 4 ./server ./tree/store ./sync ./sdk-go/... ./server/... ./bench/... ./sync/... ./tree ./tree/store/...
	else
		step "no C compiler: the race detector is left out"
	fi
}

e2e() {
	bin=$(mktemp -d)
	step "build"
	go build -o "$bin/dogwood" ./cmd/dogwood
	export DOGWOOD_BIN="$bin/dogwood"
	step "Go Admin SDK"
	(cd testdata/e2e-go && go vet ./... && go test -count=1 ./...)
	step "npm packages"
	(cd testdata/e2e && npm ci --no-audit --no-fund)
	step "npm clients: firebase, firebase-admin"
	(cd testdata/e2e && npm test)
	step "linearizability, with all clients"
	go build -C testdata/e2e-go -o "$bin/consistency" ./consistency
	DOGWOOD_ADMIN_DRIVER="$bin/consistency" go test -count=1 -run Linearizable ./server/consistency
	step "client-js"
	(cd client-js && npm ci --no-audit --no-fund && npm test)
	if CHROMIUM=$(command -v "${CHROMIUM:-chromium}"); then
		step "client-js in Chromium"
		(cd client-js && CHROMIUM="$CHROMIUM" npm run test:browser)
	else
		step "no Chromium: the browser tests of client-js are left out"
	fi
}

case $part in
quick) unit ;;
e2e) e2e ;;
all) unit; more; e2e ;;
*) echo "usage: ./test.sh [quick|e2e]" >&2; exit 2 ;;
esac
