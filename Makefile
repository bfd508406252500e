# What one does with oncegate: `make demo`, `make test`, and a few more; `make help` lists them.
# Must not be in here: a second way to build. Everything is built by `cargo build --release
# --workspace` or shares what that builds, so that the C++ of RocksDB and librdkafka, which takes
# half an hour on two cores, is compiled once. (`cargo run -p ...` selects other features and
# would compile it again: programs are run from the target directory.)

CARGO ?= cargo
CARGO_TARGET_DIR ?= $(CURDIR)/target
export CARGO_TARGET_DIR
BIN := $(CARGO_TARGET_DIR)/release
BUILD := $(CARGO) build --release --workspace --locked

# Brokers that `make broker` starts: 1, or 3 for replication 3.
BROKERS ?= 1
# The seed of `make chaos` (without one the clock gives it), and for how long faults come, which
# is 5 minutes where nothing is said.
SEED ?=
MINUTES ?=
# Options of the program behind a target, as in `make demo ARGS='--seed 7'`.
ARGS ?=
# Real-broker tests share a machine with a JVM: more of them at once only run into time-outs.
export RUST_TEST_THREADS ?= 2

.DEFAULT_GOAL := help
.PHONY: help deps build demo test broker bench bench-peers bench-scale chaos recovery sizing test-ops compose-proof bench-check

help: ## Say what there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

deps: ## Install what building and running need, or say how
	@sh scripts/deps.sh

build: deps ## Build everything, in the one profile that all targets share
	$(BUILD)

demo: build ## Run the gate on a real broker, kill it, and count what came out (KEEP=1 to look)
	@$(BIN)/demo $(if $(KEEP),--keep) $(ARGS)

test: build ## Format, lint, and all tests: unit, property and real-broker
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --release --workspace --all-targets --locked -- -D warnings
	$(CARGO) test --no-default-features --locked
	$(CARGO) test --release --workspace --locked --no-fail-fast
	@echo "make test: all passed"

test-ops: build ## Alert rules and dashboard, against a Prometheus that scrapes a run
	@BIN=$(BIN) bash scripts/test-ops.sh

compose-proof: build ## Bring docker-compose.yml up from images made of packages (root, Debian)
	@bash scripts/compose-proof.sh sh -c 'python3 -B scripts/check-dashboard.py \
	    --prometheus "$$PROMETHEUS_URL" --interval 5 --minutes 5 --wait 120'

broker: build ## Start a Kafka broker in the background (BROKERS=3 for three)
	@$(BIN)/broker --detach --brokers $(BROKERS) $(ARGS)

bench: build ## Compare with a bare exactly-once copy
	@$(BIN)/bench $(ARGS)

bench-check: build ## Count instructions under callgrind; 5 % more than recorded fails
	@command -v valgrind >/dev/null || { [ "$$(id -u)" -eq 0 ] && apt-get install -y -qq valgrind >/dev/null; } || \
	    { echo "valgrind is not in PATH; run: sudo apt-get install -y valgrind" >&2; exit 1; }
	@python3 -B scripts/bench-check.py "$$(sh scripts/bench-path.sh paths)" $(ARGS)

bench-peers: build ## Compare with a bare copy and with Kafka Streams (ARGS='--latency', ...)
	@$(BIN)/bench_peers $(ARGS)

bench-scale: build ## How the store grows: 1 to 100 million keys (ARGS='--millions 1,10,100,200 --picture docs/scale.svg')
	@"$$(sh scripts/bench-path.sh scale)" $(ARGS)

chaos: build ## Three brokers, three processes, faults at random (SEED=n MINUTES=m)
	@$(BIN)/chaos $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(ARGS)

recovery: build ## Measure how long it takes to come back after a kill, a deploy, a lost store
	@$(BIN)/recovery $(ARGS)

sizing: build ## Measure what an event costs in store, journal and memory
	@$(BIN)/sizing $(ARGS)
