# Every check is a target; .ci/run runs them all, in order. Type "make" for the
# list.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

.PHONY: help check gotestsum format build platforms update tidy lint generate generated words test race browser npm bench allocations ledger compare upgrade fuzz faults simulate model

# What a developer has set for other work, such as BUS_NATS_URL, is nothing to the tests.
$(foreach name,$(filter BUS_%,$(.VARIABLES)),$(eval unexport $(name)))

# The packages of the main module whose tests have functions of a kind. To link the tests of all takes longer than to run these.
packages_with = $$(git grep --untracked -l '^func $(1)' -- '*_test.go' ':!benchmarks/peers' ':!bus/powertest' ':!bus/events/outbox/databasetest' | sed 's|^|./|; s|/[^/]*$$||' | sort -u)

# How much each fuzz target runs: a number of inputs, a few seconds. A duration
# works too, but before Go 1.27 a target can fail just because its time is up
# (go.dev/issue/75804).
FUZZTIME ?= 500x
# How many worlds make simulate lives through, and from which on; or the only one, and in which order what happens at
# the same moment happens.
SEEDS ?= 2000
FIRST ?= 1
SEED ?=
ORDER ?= -1

# The linter lives outside the checkout, in a directory that names its version
# and that of the Go it was built with, so that it is rebuilt when either moves.
LINTER_VERSION := v2.15.0
CACHE  ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/busline
LINTER ?= $(CACHE)/golangci-lint-$(LINTER_VERSION)-$(shell go env GOVERSION)/golangci-lint

# What runs the tests: on CI .ci/test, which runs what fails again, and so needs gotestsum.
GOTEST ?= go test
GOTESTSUM_VERSION := v1.13.0
GOTESTSUM ?= $(CACHE)/gotestsum-$(GOTESTSUM_VERSION)/gotestsum
export GOTESTSUM

# The Go that the race detector runs with, so that the tests run on two versions.
NEXTGO ?= go1.27.4

# The main module, and those that keep their dependencies to themselves.
MODULES = $(sort $(dir $(shell find . -name go.mod -not -path '*/testdata/*')))

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' Makefile

check: ## everything that CI does
	@.ci/run

format: ## gofmt has nothing to change
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "run gofmt -w on:"; echo "$$unformatted"; exit 1; }

build: ## every module builds
	@for module in $(MODULES); do (cd "$$module" && echo "$$module" && go build -o /dev/null ./...); done

tidy: ## go.mod and go.sum of every module are tidy
	@for module in $(MODULES); do (cd "$$module" && go mod tidy -diff); done

PLATFORMS := linux/386 linux/arm64 darwin/arm64 windows/amd64
platforms: ## the main module builds and passes go vet elsewhere, too
	@for platform in $(PLATFORMS); do echo "$$platform"; CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} go vet ./...; done

# A module has only those of the modules named that it needs.
update: ## newer dependencies, the same in all modules: make update TO='github.com/nats-io/nkeys@v0.4.17 golang.org/x/sys@latest'
	@for module in $(MODULES); do (cd "$$module" && echo "$$module" && for to in $(TO); do \
		! go list -m "$${to%@*}" >/dev/null 2>&1 || go get "$$to"; done; go mod tidy); done

lint: $(LINTER) ## golangci-lint, with the analyzers of go vet, has nothing to say
	@for module in $(MODULES); do (cd "$$module" && $(LINTER) run ./...); done

$(LINTER):
	GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTER_VERSION)

generate: ## write the generated files
	@for module in $(MODULES); do (cd "$$module" && echo "$$module" && go generate ./...); done

# Compares the files before and after, not with the last commit, so that it can
# be typed in the middle of work. The index of its own leaves the real one alone.
generated: ## the generated files are what make generate writes
	@export GIT_INDEX_FILE=$$(mktemp -u); trap 'rm -f "$$GIT_INDEX_FILE"' EXIT; \
	snapshot() { git add -A && git write-tree; }; \
	before=$$(snapshot); $(MAKE) generate; after=$$(snapshot); \
	git diff --exit-code "$$before" "$$after"

# git grep answers 1 when it finds nothing.
words: ## no notes to oneself and no paths of one machine
	@if git grep --untracked -nIE '\b(TO[D]O|FIX[M]E|XX[X]|HAC[K]|WI[P])\b|/(roo[t]|hom[e]/[a-z]+|User[s])/' -- . ':!*go.sum'; \
	then exit 1; else test $$? -eq 1; fi

# The tests that build programs in many ways.
builders = ^(TestNames_InEveryBuild|TestSource_EditedAfterTheBuild)$$

test: ## all tests; the first line is the main module's
	$(GOTEST) ./...
	@for module in $(filter-out ./,$(MODULES)); do (cd "$$module" && echo "$$module" && $(GOTEST) ./...); done

# The tests of faults run alone: they tell a call that is lost from one that is late, as those of topologies do, which
# have no goroutines of ours besides. Those that build and run programs, and those of benchmarks and recipes, have none but
# those of the bus, and the next Go would compile everything once more for them. With -short property tests draw less.
race: ## the tests of the main module under the race detector, and with the next Go
	GOTOOLCHAIN=$(NEXTGO) $(GOTEST) -race -short -skip='$(builders)' $$(go list ./... | \
		grep -vE '/(faulttest|topology|apigen|docs|cmd/busline)$$|/benchmarks(/|$$)|/examples/' ; go list ./examples/showcase ./examples/trouble/...)
	GOTOOLCHAIN=$(NEXTGO) $(GOTEST) -race ./bus/faulttest

gotestsum: $(GOTESTSUM)

$(GOTESTSUM):
	GOBIN=$(@D) go install gotest.tools/gotestsum@$(GOTESTSUM_VERSION)

browser: ## the portal's page in a real Chromium
	go generate -C portal/browsertest ./...
	go run -C portal/browsertest .

npm: ## the page's JavaScript is formatted and linted; tools from npm accept the documents, and the JSON Schema Test Suite the constraints
	@.ci/npm $(CACHE)/npm

bench: ## each benchmark once, so that none rots
	go test -short -run '^$$' -bench . -benchtime 1x $(call packages_with,Benchmark)
	go test -C bus/powertest -run '^$$' -bench . -benchtime 1x

allocations: ## calls allocate no more than the last line of benchmarks/ledger.md says
	go run -C benchmarks/peers ./ledger -check

ledger: ## the CPU time of HEAD beside that of the first and the last line of benchmarks/ledger.md: up to 10 minutes
	@.ci/ledger

compare: ## benchmarks of two commits with benchstat: make compare OLD=main NEW=HEAD BENCH=Add
	@.ci/compare

# It needs the history of git, and builds five versions.
upgrade: ## versions of Busline together, old beside new, and the page benchmarks/upgrade.md: some 10 minutes
	go run ./benchmarks/upgrade -page benchmarks/upgrade.md

fuzz: ## each fuzz target for FUZZTIME, packages side by side
	@go test -list '^Fuzz' $(call packages_with,Fuzz) | awk '/^Fuzz/ { names = names " " $$1 } /^ok/ { if (names) print $$2 names; names = "" }' | \
	FUZZTIME=$(FUZZTIME) xargs -P "$$(getconf _NPROCESSORS_ONLN)" -L 1 .ci/fuzz

# The figures are those of benchmarks/faults.md. With a package as argument go test would not print them.
faults: ## what breaks, at full length: some 20 minutes, and a table
	BUSLINE_FAULTS=long go test -C bus/faulttest -count=1 -timeout 60m

# What is built in to be found, and how soon it is: go test ./bus/test/simulation -run TestFaults -plant 10000 -v
simulate: ## bad days in virtual time: make simulate SEEDS=100000 FIRST=1, or the history of one: SEED=17 ORDER=3
ifeq ($(SEED),)
	go test ./bus/test/simulation -count=1 -timeout 0 -run '^TestSimulation$$' -v -seeds $(SEEDS) -first $(FIRST)
else
	go run -C bus/test/simulation/replay . -seed $(SEED) -order $(ORDER)
endif

# Needs spin. BOUNDS=large searches for some minutes.
model: ## all states of the models of a call and of a stream, and what breaks them: docs/model
	docs/model/check $(BOUNDS)
