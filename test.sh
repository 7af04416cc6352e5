#!/bin/sh
# Runs the tests, in one of three tiers:
#
#	./test.sh quick   vet and the Go tests, the long ones left out: for the inner loop
#	./test.sh         every test, the long ones in a short form: before a commit, and in CI
#	./test.sh long    the same with long models, thousands of kills, fuzzing and hours of
#	                  load: at night
#	./test.sh go      of ./test.sh, the Go tests
#	./test.sh e2e     of ./test.sh, the parts with Node: sdks, client and browser
#	./test.sh sdks    of these, the SDKs of others, and what releases are made from
#	./test.sh client  of these, client-js in Node
#	./test.sh browser of these, client-js in Chromium, and the site
#
# Needs Go and Node, and Chromium ($CHROMIUM, else the one in PATH) for what runs in a
# browser; installs npm packages into testdata/e2e and client-js.
set -eu
cd "$(dirname "$0")"
part=${1:-full}

# Builds do not depend on the folder of the checkout: a new clone finds in the build cache what
# others have compiled, and so do the tests that build what readers and releases build.
# Nothing is linked for a debugger, which halves the time of it.
export GOFLAGS="${GOFLAGS:-} -trimpath -ldflags=-s"

# Releases have no C in them. The race detector needs it.
export CGO_ENABLED=0

# step begins a step. took notes how long the one before it took, and its processor time.
step() {
	took
	processor
	name=$* began=$(date +%s) used=$processor
	printf '\n== %s\n' "$name"
}
name=
took() {
	[ "$name" ] || return 0
	processor
	echo "$(($(date +%s) - began)) $((processor - used)) $part: $name" >>"$bin/steps"
	name=
}

# processor sets the processor time of the programs that this script has run, in seconds.
processor() {
	times >"$bin/processor.$part"
	{ read -r _; read -r user system; } <"$bin/processor.$part"
	processor=0
	for time in "$user" "$system"; do
		time=${time%%.*}
		processor=$((processor + 60 * ${time%m*} + ${time#*m}))
	done
}

# Tests keep their files in memory if there is plenty: what they show does not depend on
# the disk, for which they would wait thousands of times. TMPDIR=/tmp ./test.sh keeps
# them on disk.
memory=
bin=${DOGWOOD_RUN:-}
whole=no # a part of a run: the whole of it has set all up, and finishes
[ "$bin" ] || whole=yes
finish() {
	took
	if [ -s "$bin/steps" ]; then
		printf '\n== how long the steps took, and their processor time\n'
		sort -rn "$bin/steps" | while read -r seconds busy name; do printf '%7d s %7d s  %s\n' "$seconds" "$busy" "$name"; done
	fi
	if [ -s "$bin/times" ]; then
		printf '\n== the slowest Go tests\n'
		"$bin/testrun" -times "$bin/times" -top 10
	fi
	rm -rf "$bin" "$memory"
}
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
		printf '\n== temporary files are in %s\n' "$memory"
	fi
fi
if [ $whole = yes ]; then
	bin=$(mktemp -d)
	trap finish EXIT
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
	took
	DOGWOOD_RUN=$bin "$bin/testrun" -together ./test.sh "$@"
}

# unit runs the Go tests and all of go vet. The longest packages come first, and tests
# that wait run beside others.
#
# Quick leaves out the tests in the packages of data models, of the bench, of the parts of the
# command line and of the tools for tests. To link them takes most of their time, and
# cmd/dogwood compiles the packages.
unit() {
	step "Go tests"
	tested=./... side=
	if [ "$1" = quick ]; then
		side="-p $(($(getconf _NPROCESSORS_ONLN) + 1))" # at a time: tests of one package often wait
		tested=$(go list ./... | grep -v -e /sdk-go/models/ -e /dogwood/bench -e /cmd/dogwood/internal/ -e '/dogwood/internal/[^f]')
	fi
	gotest "$1" $side -vet=all -parallel 4 -timeout "$2" ./server ./cmd/dogwood $tested
}

# race runs the packages with most goroutines under the race detector. ./test.sh does so in tier
# quick, because the same tests run in tier full without the detector. Tier long has it for
# all packages of the engine and the server, and for programs that use them, too. Garbage is
# collected less often: to collect it takes many times as long with the detector.
concurrent="./sync ./server ./limit/... ./sdk-go ./server/peer ./server/realtime/... ./sync/declared
	./sync/outbox ./sync/queue ./internal/fifo ./tree/store/logged ./tree/store/wal"
users="./sdk-go/... ./server/... ./sync/... ./tree/... ./cmd/dogwood/internal/... ./bench/..."
race() {
	if command -v "$(go env CC)" >/dev/null; then
		step "Go tests with the race detector"
		tested=$concurrent
		[ "$1" = quick ] || tested="$concurrent $users"
		(export CGO_ENABLED=1 GOGC=400; gotest "$1" -race -vet=off -parallel 4 -timeout "$2" $tested)
	else
		step "no C compiler: the race detector is left out"
	fi
}

# packages installs the npm packages of a directory, unless those of its lock file are there.
packages() {
	lock="$(node --version) $(cksum <"$1/package-lock.json")"
	stamp="$1/node_modules/.installed"
	if [ "$(cat "$stamp" 2>/dev/null)" != "$lock" ]; then
		(cd "$1" && npm ci --prefer-offline --no-audit --no-fund)
		echo "$lock" >"$stamp"
	fi
}

# site builds the documentation as web pages, unless nothing that it is made of has changed, and
# tests a program that has them. Only tier long builds them with colours in code. Nothing is put
# into the checkout but what git ignores.
site() {
	packages site
	inputs=$(find . -name node_modules -prune -o -name .git -prune -o -name dist -prune -o -name cache -prune \
		-o \( -name '*.md' -o -name '*.svg' -o -path './site/*' \) -type f -print | sort | xargs cksum | cksum)
	colours=
	[ "$1" = long ] || colours=off
	built=$(cat site/node_modules/.built 2>/dev/null) || true
	if [ ! -d site/.vitepress/dist ] || { [ "$built" != "$inputs" ] && [ "$built" != "$inputs$colours" ]; }; then
		rm -rf site/.vitepress/dist
		(cd site && SITE_COLOURS=$colours npm run build)
		echo "$inputs$colours" >site/node_modules/.built
	fi
	go run ./internal/sitezip site/.vitepress/dist "$bin/site.zip"
	printf '{"Replace": {"%s": "%s"}}' "$PWD/cmd/dogwood/internal/docsite/built/site.zip" "$bin/site.zip" >"$bin/overlay"
	DOGWOOD_SITE=1 gotest "$1" -count=1 -overlay "$bin/overlay" ./cmd/dogwood/internal/docsite
}

# program builds the binary under test, unless another part has.
program() {
	export DOGWOOD_BIN="$bin/dogwood"
	if [ ! -x "$DOGWOOD_BIN" ]; then
		step "build"
		go build -toolexec 'env GOGC=400' -o "$DOGWOOD_BIN" ./cmd/dogwood
	fi
}

# module tests a Go module of its own. To vet it takes as long as to compile all that it needs, which
# are hundreds of packages of others.
module() {
	vet=off
	[ "$1" != long ] || vet=all
	(cd "$2" && DOGWOOD_TIER=$1 go test -count=1 -vet=$vet -timeout 2h -toolexec 'env GOGC=400' ./...)
}

# sdks runs the tests with the SDKs of others, and what else needs Node but client-js.
sdks() {
	step "npm packages"
	packages testdata/e2e
	step "npm clients: firebase, firebase-admin"
	(cd testdata/e2e && DOGWOOD_TIER=$1 npm test)
	step "Go Admin SDK"
	module "$1" testdata/e2e-go
	step "certificates from an ACME authority"
	module "$1" testdata/acme
	step "pages with JavaScript"
	DOGWOOD_NODE_PAGES=1 gotest "$1" -count=1 -run 'TestPages$' ./cmd/dogwood
	step "linearizability, with all clients"
	go build -C testdata/e2e-go -toolexec 'env GOGC=400' -o "$bin/consistency" ./consistency
	DOGWOOD_ADMIN_DRIVER="$bin/consistency" gotest "$1" -count=1 -run Linearizable ./server/consistency
	packaged "$1"
}

# shared makes what all parts with Node need: sdks packs client-js.
shared() {
	program
	step "client-js, built"
	packages client-js
	(cd client-js && npm run build)
}

# client runs the tests of client-js, some of which ask for the tier.
client() {
	step "client-js"
	export DOGWOOD_TUTORIALS="$bin/tutorials"
	(cd client-js && DOGWOOD_TIER=$1 npm run test:built)
	browse "$1" test/browser/tutorial.test.ts # builds its client with those of Node
}

# browser builds the site, and has a browser look at it and run client-js.
browser() {
	step "documentation site"
	site "$1"
	browse "$1" --exclude test/browser/tutorial.test.ts
}

# browse runs browser tests of client-js, all or some.
browse() {
	tier=$1
	shift
	if CHROMIUM=$(command -v "${CHROMIUM:-chromium}"); then
		step "client-js in Chromium: $*"
		(cd client-js && DOGWOOD_TIER=$tier CHROMIUM="$CHROMIUM" node_modules/.bin/vitest run --config vitest.browser.config.ts "$@")
	else
		step "no Chromium: the browser tests of client-js are left out"
	fi
}

# packaged checks what releases are made from, and installs npm packages from their files. In
# tier long it makes a release and tries each of its artefacts.
packaged() {
	step "what releases are made from"
	module "$1" packaging
	step "npm packages, installed from their files"
	packages packaging/npm
	(cd packaging/npm && DOGWOOD_TIER=$1 npm test)
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
full) shared; together go sdks client browser ;;
go) unit full 20m; race quick 20m ;;
long) unit long 6h; race full 2h; shared; sdks long; client long; browser long; night ;;
e2e) shared; together sdks client browser ;;
sdks | client | browser) program; [ $whole = no ] || shared; $part full ;;
*) echo "usage: ./test.sh [quick|long|go|e2e|sdks|client|browser]" >&2; exit 2 ;;
esac
took
