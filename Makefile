# gpujoin: runs large PostgreSQL joins in a separate daemon.
# PG=16, 17, 18 or 19 selects a PostgreSQL below build/postgres, PG_CONFIG any other than
# Debian's version 15.

SF ?= 1
QUERIES ?=
RUNS ?=
ASSERT ?=
DURATION ?= 60s
RUN ?=
SEED ?=
# KEPT=1: tpch, tpcds and bench-join measure queries over kept columns.
KEPT ?=
# FOREIGN=1: tpch measures queries over foreign tables.
FOREIGN ?=
# WORKERS="4 8": tpch also runs native plans with so many workers for each Gather.
WORKERS ?=
# SCAN=1: tpch also has DuckDB read PostgreSQL's tables, as pg_duckdb does.
SCAN ?=
# IDLE=1: benchmarks first wait, at most ten minutes, until the machine is idle.
IDLE ?=
# The result that bench-record keeps: the name of a file below build, or any file.
SUITE ?=
FILE ?=
FORCE ?=
CHECK ?=
DIR ?=
OUT ?= build/documents
A ?=
B ?= build/documents

PG ?= 15
# What provides the server below build/postgres, if any: 16, 18 and 19 are fetched, others built.
PG_SCRIPT := $(if $(ASSERT),build-postgres.sh $(PG) asserts,$(if $(filter 16 18 19,$(PG)),fetch-postgres.sh server $(PG),$(if \
	$(filter-out 15,$(PG)),build-postgres.sh $(PG))))
PG_DIR := $(PG)$(if $(ASSERT),-asserts,$(if $(filter 16 18 19,$(PG)),-fetched))
ifeq ($(PG_SCRIPT),)
PG_CONFIG ?= $(firstword $(wildcard /usr/lib/postgresql/15/bin/pg_config) pg_config)
else
PG_CONFIG := $(CURDIR)/build/postgres/$(PG_DIR)/bin/pg_config
endif
GO = $(or $(shell tools/find-go.sh),go)
BINDIR ?= /usr/local/bin
UNITDIR ?= /lib/systemd/system
MANDIR ?= /usr/local/share/man
STATICCHECK := build/bin/staticcheck-v0.8.2
DEADCODE := build/bin/deadcode-v0.40.0
NFPM := build/bin/nfpm-v2.45.0
RELEASED = $(shell cat version/VERSION)
# Installed servers whose headers are installed, too.
DEB_SERVERS = $(patsubst /usr/include/postgresql/%/server/postgres.h,/usr/lib/postgresql/%/bin/pg_config,$(wildcard /usr/include/postgresql/*/server/postgres.h))

export PG_CONFIG
export GOTOOLCHAIN := auto
# Programs that call the go command find it in PATH.
export PATH := $(patsubst %/,%,$(dir $(filter /%,$(GO)))):$(PATH)

.PHONY: help setup build compile settings install uninstall deb deb-test container-test dist demo demo-foreign test regress documents documents-diff duckdb tpch tpcds ablation bench-join bench-kept bench-mirror bench-load bench-record bench-report bench-scale-out sim regress-forced differential kept-check mirror-check faults soak sqllogic lint clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-19s %s\n", $$1, $$2 }'

setup: ## install missing packages (Debian 12; root or sudo)
	@$(if $(PG_SCRIPT),tools/$(PG_SCRIPT) >/dev/null)
	@tools/setup.sh

build: setup programs ## build the daemon and the extension, with what their tests need

compile: programs ## build what make install installs, for the server that PG_CONFIG names; installs no package
	@GO="$(GO)" tools/files.sh "$(BINDIR)" build/files

.PHONY: programs
programs:
	@tools/find-go.sh >/dev/null || { echo "There is no Go 1.21 or newer. On Debian 12, make setup installs it; others get it from https://go.dev/dl/." >&2; exit 1; }
	@[ -e "$$("$(PG_CONFIG)" --pgxs 2>/dev/null)" ] || { echo "$(PG_CONFIG) finds no header files of a server. On Debian 12, make setup installs them." >&2; exit 1; }
	@echo "building the daemon"
	@CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -o build/bin/gpujoind ./cmd/gpujoind
	@echo "building the extension"
	@$(MAKE) --no-print-directory -s -C fdw

install: ## install what make compile has built, and gpujoin-cuda if it was built (as root)
	@PG_CONFIG="$(PG_CONFIG)" DESTDIR="$(DESTDIR)" BINDIR="$(BINDIR)" UNITDIR="$(UNITDIR)" MANDIR="$(MANDIR)" tools/install.sh install

uninstall: ## remove what make install has installed; the configuration and measured rates stay (as root)
	@PG_CONFIG="$(PG_CONFIG)" DESTDIR="$(DESTDIR)" BINDIR="$(BINDIR)" UNITDIR="$(UNITDIR)" MANDIR="$(MANDIR)" tools/install.sh uninstall

settings: ## write docs/settings.md, whose tables are made of the code
	@cd tests && $(GO) test -count=1 ./docs -run '^TestSettingsPage$$' -update

deb: compile $(NFPM) ## make Debian packages of the daemon and of the extension for all servers with headers, or PG_CONFIG's; build/deb
	@GO="$(GO)" NFPM="$(CURDIR)/$(NFPM)" tools/deb.sh $(if $(filter command environment,$(firstword $(origin PG_CONFIG))),"$(PG_CONFIG)",$(DEB_SERVERS))

dist: ## make the archive of this commit's sources; build/gpujoin-VERSION.tar.gz
	@mkdir -p build
	@git archive --prefix=gpujoin-$(RELEASED)/ -o build/gpujoin-$(RELEASED).tar.gz HEAD
	@cd build && sha256sum gpujoin-$(RELEASED).tar.gz | tee gpujoin-$(RELEASED).tar.gz.sha256

deb-test: ## install, update, remove and purge the packages of make deb in a Debian 12 in a directory (as root)
	@tools/deb-test.sh

container-test: ## build the container image and try it, without Docker and a registry (Debian 12, as root)
	@tools/container-test.sh

demo: build ## load TPC-H SF 0.1 into a private server and run a join natively and offloaded
	@cd tests && $(GO) run -buildvcs=false ./cmd/demo

demo-foreign: build ## the same over two servers: tables of one are foreign tables of the other, mirrored as columns
	@cd tests && $(GO) run -buildvcs=false ./cmd/demo foreign

test: build $(STATICCHECK) $(DEADCODE) build/bin/promtool ## run all tests: lint, unit, CUDA builds, regression, isolation, end to end
	@cd tests && $(GO) run -buildvcs=false ./cmd/check

regress: build ## run sql/regress and sql/isolation; with PG=16, 17, 18 or 19 on that version alone: make regress PG=17
	@cd tests && $(GO) run -buildvcs=false ./cmd/check -only regress

documents: build ## write the jobs that sql/regress sends, to compare two trees: make documents OUT=build/documents
	@cd tests && $(GO) run -buildvcs=false ./cmd/check -documents "$(abspath $(OUT))"

documents-diff: ## compare two such files: make documents-diff A=before B=build/documents
	@cd tests && $(GO) run -buildvcs=false ./cmd/check -diff-documents "$(abspath $(A))" "$(abspath $(B))"

WAIT = $(if $(IDLE),-wait-idle 10m)

duckdb:
	@tools/build-duckdb.sh

tpch: build $(if $(FOREIGN),,duckdb) ## run TPC-H natively and offloaded, and DuckDB: make tpch SF=1 QUERIES="3 5 10" RUNS=3 KEPT=1 WORKERS="4 8" SCAN=1, or FOREIGN=1; writes build/tpch.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench tpch -sf $(SF) -queries "$(QUERIES)" $(if $(RUNS),-runs $(RUNS)) $(if $(KEPT),-kept) $(if $(FOREIGN),-foreign) $(if $(WORKERS),-workers "$(WORKERS)") $(if $(SCAN),-scan) $(WAIT)

tpcds: build duckdb ## the same for the 99 queries of TPC-DS: make tpcds SF=1 RUNS=1 KEPT=1; writes build/tpcds.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench tpcds -sf $(SF) -queries "$(QUERIES)" $(if $(RUNS),-runs $(RUNS)) $(if $(KEPT),-kept) $(WAIT)

ablation: build duckdb ## measure what each correction of the cost model gains, over TPC-H and TPC-DS: make ablation SF=1 RUNS=3; writes build/ablation.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench ablation -sf $(SF) $(if $(RUNS),-runs $(RUNS)) $(WAIT)

bench-join: build ## compare joins of 10 M rows with native plans: make bench-join KEPT=1; writes build/bench-join.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench join $(if $(RUNS),-runs $(RUNS)) $(if $(KEPT),-kept) $(WAIT)

bench-kept: build ## measure columns that the daemon keeps: conditions, proofs, captures, changed blocks; writes build/bench-kept.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench kept $(if $(RUNS),-runs $(RUNS)) $(WAIT)

bench-mirror: build ## measure mirrors of another server's tables: load, stream, lag, what they cost; writes build/bench-mirror.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench mirror $(if $(RUNS),-runs $(RUNS)) $(if $(filter-out 1,$(SF)),-sf $(SF)) $(WAIT)

bench-load: build ## run joins and short transactions of many clients; writes build/bench-load.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench load $(WAIT)

bench-record: ## keep a result in bench/results: make bench-record SUITE=tpch, or FILE=path; refuses one of a busy machine without FORCE=1
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench record $(if $(SUITE),-suite "$(SUITE)") $(if $(FILE),-file "$(abspath $(FILE))") $(if $(FORCE),-force)

bench-report: ## make docs/benchmarks.md, its plots and the figures of other pages from the recorded results; CHECK=1 only compares
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench report $(if $(CHECK),-check)

bench-scale-out: build ## measure tables that two servers share, through postgres_fdw, with joins native and offloaded on them; writes build/bench-scale-out.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench scale-out $(if $(RUNS),-runs $(RUNS))

sim: ## figures of the MG-Join paper in the simulator of several GPUs; results in build/sim.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/bench sim -json ../build/sim.json

regress-forced: build ## run PostgreSQL's own suites natively and forced; ASSERT=1 for a server with assertions; writes build/regress-forced.json
	@source=$$(tools/fetch-postgres.sh source $(PG)) && cd tests && $(GO) run -buildvcs=false ./cmd/differential regress -source "$$source"

differential: build ## compare random queries with native plans: make differential DURATION=60s SEED=1; writes build/differential.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/differential random -duration $(DURATION) $(if $(SEED),-seed $(SEED))

kept-check: build ## compare queries over kept columns with native ones while everything changes: make kept-check DURATION=10m PG=18 SEED=1; writes build/kept-check.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/differential kept -duration $(DURATION) $(if $(SEED),-seed $(SEED))

mirror-check: build ## check queries of another server's tables while it changes and fails: make mirror-check DURATION=10m PG=18 SEED=1; writes build/mirror-check.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/differential mirror -duration $(DURATION) $(if $(SEED),-seed $(SEED))

faults: build ## cause faults in each phase of queries and check what is left of them: make faults PG=18 RUN=TestKillSerial; writes build/faults.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/proof faults $(if $(RUN),-run $(RUN))

soak: build ## 32 clients that do everything, with and without the extension: make soak DURATION=10m SEED=1; writes build/soak.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/proof soak $(if $(filter file,$(origin DURATION)),,-duration $(DURATION)) $(if $(SEED),-seed $(SEED))

sqllogic: build ## compare the queries of sqllogictest files with native plans: make sqllogic DIR=duckdb/test/sql; writes build/sqllogic.json
	@cd tests && $(GO) run -buildvcs=false ./cmd/differential sqllogic -dir "$(abspath $(DIR))"

include tools/gpu.mk

lint: build $(STATICCHECK) ## run the static checks of make test
	@cd tests && $(GO) run -buildvcs=false ./cmd/check -only lint

$(STATICCHECK):
	@echo "building staticcheck"
	@GOBIN=$(CURDIR)/build/bin GOFLAGS=-buildvcs=false $(GO) install honnef.co/go/tools/cmd/staticcheck@v0.8.2
	@mv build/bin/staticcheck $@

$(DEADCODE):
	@echo "building deadcode"
	@GOBIN=$(CURDIR)/build/bin GOFLAGS=-buildvcs=false $(GO) install golang.org/x/tools/cmd/deadcode@v0.40.0
	@mv build/bin/deadcode $@

build/bin/promtool:
	@tools/fetch-promtool.sh

$(NFPM):
	@echo "building nfpm, which makes packages"
	@CGO_ENABLED=0 GOBIN=$(CURDIR)/build/bin GOFLAGS=-buildvcs=false $(GO) install -trimpath github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0
	@mv build/bin/nfpm $@

clean: ## remove build results and the files of private servers
	@if [ -e build/run.elsewhere ]; then rm -rf "$$(cat build/run.elsewhere)"; fi
	@rm -rf build
	@$(MAKE) --no-print-directory -s -C fdw clean
