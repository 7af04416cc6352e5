#!/bin/sh
# Runs the tests, in one of three tiers:
#
#	./test.sh quick   vet and the Go tests, the long ones left out: for the inner loop
#	./test.sh         every test, the long ones in a short form: before a commit, and in CI
#	./test.sh long    the same with long models, thousands of kills, fuzzing and hours of
#	                  load: at night
#	./test.sh go      of ./test.sh, the Go tests
#	./test.sh e2e     of ./test.sh, the part with the real clients
#
# Needs Go and Node, and Chromium ($CHROMIUM, else the one in PATH) for what runs in a
# browser; installs npm packages into testdata/e2e and client-js.
set -eu
cd "$(dirname "$0")"
part=${1:-full}

step() { printf '\n== %s\n' "$*"; }

# Tests keep their files in memory if there is plenty: what they show does not depend on
# the disk, for which they would wait thousands of times. TMPDIR=/tmp ./test.sh keeps
# them on disk.
memory=
bin=${DOGWOOD_RUN:-}
if [ "$bin" ]; then
	whole=no # a part of a run: the whole of it has set all up, and finishes
else
	whole=yes
	bin=$(mktemp -d)
fi
finish() {
	if [ -s "$bin/times" ]; then
		step "the slowest Go tests"
		"$bin/testrun" -times "$bin/times" -top 10
	fi
	rm -rf "$bin" "$memory"
}
[ $whole = no ] || trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
kib=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ $whole = yes ] && [ -z "${TMPDIR:-}" ] && [ "${kib:-0}" -gt 8000000 ]; then
	# Always the same name: otherwise "go test" would have no results cached.
	memory=/dev/shm/dogwood-$(id -u)-$(pwd | cksum | cut -d ' ' -f 1)
	mkdir -m 700 "$memory" 2>/dev/null || [ -O "$memory" ] || memory=
	# Not where programs cannot be run, as in many containers: tests run some from there.
	if [ "$memory" ] && cp /bin/true "$memory/run" && "$memory/run" 2>/dev/null; then
		export TMPDIR="$memory"
		step "temporary files are in $memory"
	fi
fi

# gotest runs "go test" with a tier, and notes how long the tests take. The compiler collects
# its garbage less often, which takes a fifth off its processor time. The build cache is that
# of other builds.
gotest() {
	tier=$1
	shift
	DOGWOOD_TIER=$tier "$bin/testrun" -times "$bin/times" -- -toolexec 'env GOGC=400' "$@"
}

# together runs parts of this script at the same time. The real clients and Node leave a
# processor idle for most of their time.
together() {
	DOGWOOD_RUN=$bin "$bin/testrun" -together ./test.sh "$@"
}

# unit runs the Go tests and all of go vet. The longest packages come first, and tests
# that wait run beside others.
#
# In tier quick nothing is compiled or linked for a debugger, which takes a tenth off the
# processor time. Tier full shares what it compiles with the builds of the binary. Quick also leaves out
# the tests in the packages of data models, each of which links a server: they are examples,
# and cmd/dogwood compiles the packages.
unit() {
	step "Go tests"
	debug='' tested=./...
	if [ "$1" = quick ]; then
		debug="-gcflags=all=-dwarf=false -ldflags=-s"
		tested=$(go list ./... | grep -v /sdk-go/models/)
	fi
	gotest "$1" $debug -vet=all -parallel 4 -timeout "$2" ./server ./cmd/dogwood $tested
}

# race runs the packages with goroutines under the race detector. ./test.sh does so in tier
# quick, because the same tests run in tier full without the detector.
concurrent="./server ./limit/... ./tree/store ./sync ./sdk-go/... ./server/... ./bench/... ./sync/... ./internal/fifo ./tree ./tree/store/... ./cmd/dogwood/internal/client ./cmd/dogwood/internal/console"
race() {
	if command -v "$(go env CC)" >/dev/null; then
		step "Go tests with the race detector"
		(export CGO_ENABLED=1; gotest "$1" -race -vet=off -parallel 4 -timeout "$2" $concurrent)
	else
		step "no C compiler: the race detector is left out"
	fi
}

# packages installs the npm packages of a directory, unless those of its lock file are there.
packages() {
	lock="$(node --version) $(cksum <"$1/package-lock.json")"
	stamp="$1/node_modules/.installed"
	if [ "$(cat "$stamp" 2>/dev/null)" != "$lock" ]; then
		(cd "$1" && npm ci --no-audit --no-fund)
		echo "$lock" >"$stamp"
	fi
}

# e2e runs the tests with the real clients. npm is first: meanwhile the Go tests compile most
# of what the server needs.
e2e() {
	step "npm packages"
	packages testdata/e2e
	packages client-js
	step "build"
	go build -toolexec 'env GOGC=400' -o "$bin/dogwood" ./cmd/dogwood
	export DOGWOOD_BIN="$bin/dogwood"
	step "Go Admin SDK"
	(cd testdata/e2e-go && go vet ./... && go test -count=1 ./...)
	step "npm clients: firebase, firebase-admin"
	(cd testdata/e2e && npm test)
	step "linearizability, with all clients"
	go build -C testdata/e2e-go -o "$bin/consistency" ./consistency
	DOGWOOD_ADMIN_DRIVER="$bin/consistency" gotest "$1" -count=1 -run Linearizable ./server/consistency
	step "client-js"
	(cd client-js && npm test)
	if CHROMIUM=$(command -v "${CHROMIUM:-chromium}"); then
		step "client-js in Chromium"
		(cd client-js && CHROMIUM="$CHROMIUM" node_modules/.bin/vitest run --config vitest.browser.config.ts)
	else
		step "no Chromium: the browser tests of client-js are left out"
	fi
}

night() {
	step "client-js and the official client side by side: 10,000 histories"
	(cd client-js && npm run test:sidebyside)
	step "fuzzing"
	make fuzz T=2m
	step "half an hour of mixed load"
	make soak
}

[ $whole = no ] || go build -o "$bin/testrun" ./internal/testrun
case $part in
quick) unit quick 10m ;;
full) together go e2e ;;
go) unit full 20m; race quick 20m ;;
long) unit long 6h; race full 2h; e2e long; night ;;
e2e) e2e full ;;
*) echo "usage: ./test.sh [quick|long|go|e2e]" >&2; exit 2 ;;
esac
