.PHONY: help build test quick long race model crash freeze soak fuzz bench figures compare e2e fmt
help: ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/'
build: ## build bin/dogwood
	go build -o bin/dogwood ./cmd/dogwood
test: ## run every test, as CI does
	./test.sh
quick: ## vet and the Go tests, without the long ones
	./test.sh quick
long: ## run every test at length, for hours
	./test.sh long
race: ## the Go tests with the race detector
	go test -race ./...
model: ## 100,000 random operations against the reference model
	DOGWOOD_MODEL_STEPS=100000 go test -count=1 -run Model ./server ./tree/store
crash: ## 1,000 kills and power failures
	DOGWOOD_KILLS=1000 go test -count=1 -timeout 90m -run 'TestCrash|PowerLoss' ./cmd/dogwood ./tree/store
FREEZE ?= 1024 65536 8388608
freeze: ## databases of tests in files with a log, and commits applied from some sizes on
	for n in $(FREEZE); do \
		DOGWOOD_LOGGED=1 go test -count=1 -timeout 60m -ldflags=-X=github.com/dogwooddb/dogwood/tree/store/logged.freezeBytes=$$n \
			./sync/... ./server/... ./sdk-go/... ./cmd/dogwood || exit; \
	done
soak: ## half an hour of mixed load
	go run ./cmd/dogwood bench soak --spawn serve --duration 30m
T ?= 30s
fuzz: ## every fuzz target for T=30s each
	@go list ./... | while read p; do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "== $$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(T) -fuzzminimizetime 5x $$p || exit 1; \
	  done; done
bench: ## Go benchmarks
	go test -run '^$$' -bench . -benchmem ./...
D ?= 10s
figures: build ## the figures of docs/performance.md: medians of 5 runs of D=10s
	@for w in set "set --connections 1 --in-flight 1" fanout chat rest-get rest-put; do \
		echo "== $$w"; bin/dogwood bench $$w --spawn serve --repeat 5 --duration $(D) || exit; \
	done
	@for w in chat fanout rest-get; do \
		echo "== $$w, and the ceiling"; bin/dogwood bench $$w --spawn serve --compare-bare --repeat 5 --duration $(D) || exit; \
	done
	@for w in shallow query; do \
		echo "== $$w"; bin/dogwood bench $$w --spawn serve --repeat 5 --duration $(D) || exit; \
	done
	@for w in delete import "idle --connections 10000" "idle --connections 15000"; do \
		echo "== $$w"; bin/dogwood bench $$w --spawn serve --repeat 5 || exit; \
	done
W ?= set,set --connections 1 --in-flight 1,chat --rules chat,fanout,rest-get,rest-put
N ?= 5
compare: build ## this build against that of revision OLD, in turn: workloads W, N runs of D=10s each
	@test -n "$(OLD)" || { echo 'say which build to compare with: make compare OLD=REVISION'; exit 2; }
	@tmp=$$(mktemp -d) && trap 'git worktree remove --force '$$tmp'/old; rm -r '$$tmp EXIT && \
	git worktree add --quiet --detach $$tmp/old $(OLD) && (cd $$tmp/old && go build -o $$tmp/dogwood ./cmd/dogwood) && \
	echo '$(W)' | tr ',' '\n' | while read -r w; do \
		echo "== $$w"; bin/dogwood bench $$w --spawn serve --against $$tmp/dogwood --repeat $(N) --duration $(D) || exit; \
	done
e2e: ## the real clients only
	./test.sh e2e
fmt: ## format the Go code
	gofmt -w $$(git ls-files '*.go')
