# Everything a developer does. `make report` and `make test` need only Python >= 3.11, git and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Two for each core: tests wait for browsers, kernels and servers.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(2 * (os.cpu_count() or 1))')
# On a busy machine a browser or a process may keep a test waiting for too long: it runs once more and
# the summary names it. A test that fails in another way does not.
AGAIN := -rR --reruns 1 --only-rerun 'Timeout|timed out'
# Many tests start Python; without its saved byte code a start takes half a second of compiling.
unexport PYTHONDONTWRITEBYTECODE

FUZZ_CASES ?= 100000
SEED ?=
EXAM_SEED := $(if $(SEED),--seed $(SEED))
FUZZ_SEED ?= $(shell date +%s)

FRAMEWORKS := .venv-frameworks
FRAMEWORKS_STAMP := $(FRAMEWORKS)/.installed
FRAMEWORKS_GB := 14

TYPESCRIPT := 5.9.3
NODE_TOOLS := .node-tools/typescript-$(TYPESCRIPT)

DOCS := .venv-docs
DOCS_STAMP := $(DOCS)/.installed

.PHONY: help docs dist report test test-attacks test-dask test-docs test-frameworks check lint lint-js types fuzz notebook bench exam exam-short exam-real samples \
  screenshots clean

help:  ## list what make can do
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' Makefile

report: $(STAMP)  ## build the report of the sample job into report/
	@mkdir -p report
	@$(BIN)/python -m sample_data.make input_bound
	@$(BIN)/make-profiler-report sample_data/jobs/input_bound --output report --force

test: $(STAMP)  ## every test but those with an own command: unit, notebook, browser; a file's tests stay together
	$(BIN)/python -m pytest -m "not cluster and not documents and not attacks" -n $(WORKERS) --maxprocesses 8 --dist loadfile \
	  --no-loadscope-reorder $(AGAIN)

test-dask: $(STAMP)  ## start real Dask clusters, kill their workers, compare bytes
	$(BIN)/python -m pytest -m cluster tests/engine tests/end_to_end/test_cluster.py

test-docs: $(STAMP)  ## run every command of the documents, and their code that adds a rule and a format
	$(BIN)/python -m pytest -m documents -n $(WORKERS) --maxprocesses 8 tests/test_docs_commands.py \
	  tests/test_adding_a_rule.py tests/test_adding_a_format.py

test-attacks: $(STAMP)  ## read packed bombs, names without end and other harm within seconds and a gigabyte
	$(BIN)/python -m pytest -m attacks tests/fuzz/test_attacks.py

test-frameworks: $(STAMP) $(FRAMEWORKS_STAMP)  ## record real frameworks; EVERY_PAIR=1: every script with every launcher
	TEST_FRAMEWORKS=1 $(BIN)/python -m pytest tests/frameworks -m frameworks

check: lint types $(STAMP)  ## lint, types, unit tests: what each commit passes
	$(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 --dist loadfile \
	  -m "not notebook and not browser and not slow and not cluster and not documents and not attacks"

lint: $(STAMP)  ## ruff and the contracts of imports
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

# REQUIRE_NODE=1: an error where there is no node, as in CI.
lint-js:  ## check the types of the page's scripts, where node is installed
	@if command -v npm >/dev/null; then \
	  test -d $(NODE_TOOLS) || npm install --silent --no-save --no-package-lock \
	    --prefix $(NODE_TOOLS) typescript@$(TYPESCRIPT) || exit 1; \
	  $(NODE_TOOLS)/node_modules/.bin/tsc -p templates/script/jsconfig.json; \
	else echo "lint-js skipped: npm was not found"; test -z "$(REQUIRE_NODE)"; fi

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

fuzz: $(STAMP)  ## mutate FUZZ_CASES inputs of every family; a failure says how to see it again
	$(BIN)/python -m tests.fuzz --cases $(FUZZ_CASES) --seed $(FUZZ_SEED)

bench: $(STAMP)  ## measure against the incumbents, side by side
	$(BIN)/python benchmarks/run.py

exam: $(STAMP)  ## generate jobs with known faults, and mark what the report says; SEED=4: other jobs than those reported
	$(BIN)/python -m benchmarks.exam $(EXAM_SEED) --write docs/diagnosis.md

exam-short: $(STAMP)  ## the same with 40 jobs, in a few minutes
	$(BIN)/python -m benchmarks.exam $(EXAM_SEED) --jobs 40

samples: $(STAMP)  ## make the sample jobs in sample_data/jobs/
	$(BIN)/python -m sample_data.make

dist: $(STAMP)  ## build wheel and sdist into dist/, with the same bytes whenever a commit is built
	rm -rf dist
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -d dist

docs: $(DOCS_STAMP) $(STAMP)  ## build the site of the documents, with two example pages, into site/; a dead link fails
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict -f docs/site/mkdocs.yml
	@$(BIN)/python -m sample_data.make input_bound
	@$(BIN)/make-profiler-report sample_data/jobs/input_bound --output site/.made/sampled-job --quiet
	@$(BIN)/make-profiler-report sample_data/kernel_traces --output site/.made/kernel-traces --quiet
	@mkdir -p site/examples
	@for name in sampled-job kernel-traces; do \
	  cp site/.made/$$name/profiler-report.html site/examples/$$name.html; done
	@rm -r site/.made

screenshots: $(STAMP)  ## take the pictures of the README
	$(BIN)/python docs/screenshots.py

clean:  ## remove what make made
	rm -rf $(VENV) $(FRAMEWORKS) .node-tools report screenshots sample_data/jobs .mypy_cache .ruff_cache .pytest_cache

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

$(DOCS_STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	  mkdocs-material
	@touch $@

# torch's wheel needs its nvidia packages, so this takes about 6 GB and two minutes.
$(FRAMEWORKS_STAMP): tests/frameworks/constraints.txt
	@$(PYTHON) -c 'import shutil, sys; free = shutil.disk_usage(".").free / 1e9; \
	  sys.exit(f"$(FRAMEWORKS) needs $(FRAMEWORKS_GB) GB while it is installed; {free:.0f} GB are free" \
	  if free < $(FRAMEWORKS_GB) else 0)'
	rm -rf $(FRAMEWORKS)
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir \
	  -c tests/frameworks/constraints.txt torch lightning transformers accelerate keras 'jax[cpu]'
	@touch $@
