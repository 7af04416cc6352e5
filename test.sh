#!/bin/sh
# Runs every test: ./test.sh. Parts of it: ./test.sh quick, ./test.sh e2e.
# Needs Go and Node, and Chromium ($CHROMIUM, else the one in PATH) for what runs in a
# browser; installs npm packages into testdata/e2e and client-js.
set -eu
cd "$(dirname "$0")"
part=${1:-all}

step() { printf '\n== %s\n' "$*"; }

unit() {
	step "go vet"
	go vet ./...
	step "Go tests"
	go test ./server ./cmd/dogwood ./... # the longest first
}

more() {
	step "model: 100,000 random operations through every door"
	DOGWOOD_MODEL_STEPS=100000 go test -count=1 -run Model ./server
	if command -v "$(go env CC)" >/dev/null; then
		step "Go tests with the race detector"
		# Where something is concurrent, the longest first, and the models for a few steps, which
		# have run; "make race" takes all packages.
		DOGWOOD_MODEL_STEPS=400 CGO_ENABLED=1 go test -race -short ./server ./tree/store ./sync ./sdk-go/... ./server/... ./bench/... ./sync/... ./tree/...
	else
		step "no C compiler: the race detector is left out"
	fi
}

e2e() {
	bin=$(mktemp -d)
	trap 'rm -rf "$bin"' EXIT
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
