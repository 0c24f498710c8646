.DEFAULT_GOAL := help
SHELL := /bin/bash
# Use the machine's own Python: nothing is downloaded but packages.
export UV_PYTHON_DOWNLOADS := never
# Compiled modules are kept, whatever the machine says: else every process compiles thousands of them anew.
unexport PYTHONDONTWRITEBYTECODE
UV := $(shell command -v uv 2>/dev/null || echo .tools/uv/bin/uv)
RUN := .venv/bin/
# The environment is made again only when what it is made from changes.
STAMP := .venv/.setup-$(shell cat pyproject.toml uv.lock 2>/dev/null | cksum | cut -d' ' -f1)

.PHONY: help setup dev demo serve lint check test test-share test-all bench bench-large format snippet snippet-tools snippet-lint js docs pictures notebooks

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.tools/uv/bin/uv:
	@echo "uv is not on this machine: installing it into .tools/"
	@python3 -m venv .tools/uv 2>/dev/null && .tools/uv/bin/python -m pip install --quiet uv \
	  || { rm -rf .tools/uv && python3 -m pip install --quiet --target .tools/uv uv; }

$(STAMP): $(filter .tools/%,$(UV))
	@$(UV) sync --frozen --quiet --inexact --python "$$(python3 -c 'import sys; print(sys.executable)')"
	@touch $@

.venv/.dev-$(notdir $(STAMP)): $(STAMP)
	@$(UV) sync --frozen --quiet --inexact --group dev --python "$$(python3 -c 'import sys; print(sys.executable)')"
	@touch $@

setup: $(STAMP) ## install the truelift command into .venv

dev: .venv/.dev-$(notdir $(STAMP)) ## setup, and install what tests and checks need

# Node comes from PyPI with the other tools; the packages of the browser script are those of its lock file.
SNIPPET := api/sdk/browser
# Its scripts are checked by the tools of the browser script.
DASHBOARD := api/dashboard
WITH_NODE := PATH="$(CURDIR)/.venv/bin:$$PATH"
NPM_STAMP := $(SNIPPET)/node_modules/.package-lock.json

# Frameworks on whose pages it is tried.
FRAMEWORKS := tests/api/sdk/browser/frameworks
FRAMEWORKS_STAMP := $(FRAMEWORKS)/node_modules/.package-lock.json

# The package of applications, made of the same modules.
JS := packages/js
JS_STAMP := $(JS)/node_modules/.package-lock.json

# The recipe of a worker, and Cloudflare's own runtime, which runs it.
WORKER := recipes/worker
WORKER_STAMP := tests/recipes/worker/node_modules/.package-lock.json
NPM_STAMPS := $(NPM_STAMP) $(FRAMEWORKS_STAMP) $(JS_STAMP) $(WORKER_STAMP)

$(NPM_STAMPS): %/node_modules/.package-lock.json: %/package.json %/package-lock.json | dev
	@cd $* && $(WITH_NODE) npm ci --ignore-scripts --silent
	@touch $@

snippet-tools: $(NPM_STAMPS) ## install what builds and checks the browser script and @truelift/js

snippet: snippet-tools ## build the browser script into api/sdk/browser/dist
	@$(RUN)python -m api.sdk.known_attributes > $(SNIPPET)/known_attributes.js
	@$(WITH_NODE) node $(SNIPPET)/build.mjs

js: snippet-tools ## build @truelift/js into packages/js/dist, and print its sizes
	@$(WITH_NODE) node $(JS)/build.mjs

snippet-lint: snippet-tools ## check the types, format and lint rules of the browser script, @truelift/js, the dashboard's and the worker's
	@cd $(SNIPPET) && $(WITH_NODE) node_modules/.bin/tsc --project .
	@cd $(SNIPPET) && node_modules/@biomejs/cli-*/biome check --error-on-warnings .
	@cd $(SNIPPET) && $(WITH_NODE) node_modules/.bin/tsc --project $(CURDIR)/$(DASHBOARD)
	@cd $(DASHBOARD) && $(CURDIR)/$(SNIPPET)/node_modules/@biomejs/cli-*/biome check --error-on-warnings .
	@cd $(JS) && $(WITH_NODE) node_modules/.bin/tsc --project . --noEmit --emitDeclarationOnly false
	@cd $(JS) && $(CURDIR)/$(SNIPPET)/node_modules/@biomejs/cli-*/biome check --error-on-warnings .
	@cd $(WORKER) && $(CURDIR)/$(SNIPPET)/node_modules/@biomejs/cli-*/biome check --error-on-warnings .

demo: setup ## generate a shop, roll it up, print the verdicts and serve them
	@$(RUN)truelift demo

serve: setup ## serve the store in data/store on port 8000
	@$(RUN)truelift serve --data-dir data/store --host 127.0.0.1 --port 8000

# Not with mypy's --num-workers: it is experimental, and has ended with an internal error.
lint: dev snippet-lint ## check the format, lint rules, types and import rules
	@$(RUN)ruff format --check --quiet . || { echo "run 'make format'"; exit 1; }
	@$(RUN)ruff check --quiet .
	@$(RUN)mypy
	@$(RUN)lint-imports --no-logo 2>/dev/null || $(RUN)lint-imports

# What a small change breaks most easily, tested in seconds.
QUICK_TESTS := tests/engine/test_known_mistakes.py tests/engine/analysis/report/test_decision.py \
  tests/engine/design/test_assignment.py tests/engine/design/test_lifecycle.py \
  tests/test_architecture.py tests/test_mirrored_tests.py tests/test_module_names.py tests/test_source_rules.py \
  tests/test_tests.py

check: lint ## lint, and run the quick tests
	@$(RUN)python -m pytest -q -n 0 -m "not slow" $(QUICK_TESTS)

# Together they run every line of the catalog that any test runs.
CATALOG_TESTS := tests/pipeline/store/catalog tests/pipeline/store/ownership tests/pipeline/store/test_postgresql.py \
  tests/api/idempotency tests/api/test_operations.py tests/api/test_auth.py tests/api/test_services.py \
  tests/api/cli/test_accounts.py tests/api/cli/test_stores.py tests/api/cli/operation/test_backup.py \
  tests/api/routes/test_projects.py tests/api/routes/test_projects_removal.py tests/api/routes/test_experiments.py tests/api/routes/test_members.py \
  tests/api/routes/test_runs.py tests/api/routes/imports tests/api/routes/webhooks
# What else asks the catalog: `make test-all` runs it on PostgreSQL, too.
CATALOG_CALLERS := tests/api/routes tests/api/dashboard tests/api/operator tests/api/cli/test_checking.py \
  tests/api/cli/client tests/api/cli/test_runs.py \
  tests/api/cli/imports/test_importing.py tests/api/sdk/test_track.py tests/api/sdk/test_access.py

# The commit whose share of the long tests is run, and the seed of many examples that it gives.
COMMIT ?= $(shell git rev-parse HEAD)
SEED ?= $(shell printf '%d' 0x$$(echo $(COMMIT) | cut -c1-8))
MANY = --hypothesis-profile=many --hypothesis-seed=$(SEED)

# One more worker than cores: a test often waits for a disk, a server or a browser.
WORKERS ?= $(shell expr $$(nproc 2>/dev/null || echo 2) + 1)
# A file's tests stay together, so that its services are started once.
PYTEST = $(RUN)python -m pytest -q -n $(WORKERS) --dist=loadfile --no-loadscope-reorder
# Stores of tests are in memory where it has room for them: they wait for no disk.
export PYTEST_DEBUG_TEMPROOT ?= $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -gt 6000000 ] \
  2>/dev/null && [ -w /dev/shm ] && echo /dev/shm || echo $${TMPDIR:-/tmp})

test: dev snippet-tools ## run the tests except those marked long, and tests of the catalog on PostgreSQL too
	@echo "First with the catalog on SQLite, then tests of the catalog on PostgreSQL: about twelve minutes on two cores."
	@$(PYTEST)
	@$(PYTEST) --catalog=postgresql $(CATALOG_TESTS)

test-share: dev snippet-tools ## run the commit's share of the long tests and of many examples (COMMIT=…, SEED=…)
	@echo "About three minutes: the share of $(COMMIT), with the seed $(SEED)."
	@echo "Again: make test-share COMMIT=$(COMMIT) SEED=$(SEED)"
	@$(PYTEST) --dist=worksteal --durations=20 --share=$(COMMIT) $(MANY)

test-all: dev snippet-tools ## run every test, with many examples, and tests of the catalog on PostgreSQL too
	@$(PYTEST) --long $(MANY)
	@$(PYTEST) --long --catalog=postgresql $(CATALOG_TESTS) $(CATALOG_CALLERS)

format: dev snippet-tools ## format the code and fix what the linter can
	@cd $(SNIPPET) && node_modules/@biomejs/cli-*/biome check --write .
	@cd $(DASHBOARD) && $(CURDIR)/$(SNIPPET)/node_modules/@biomejs/cli-*/biome check --write .
	@cd $(JS) && $(CURDIR)/$(SNIPPET)/node_modules/@biomejs/cli-*/biome check --write .
	@cd $(WORKER) && $(CURDIR)/$(SNIPPET)/node_modules/@biomejs/cli-*/biome check --write .
	@$(RUN)ruff format --quiet .
	@$(RUN)ruff check --fix --quiet .

docs: dev ## build the documentation as a site into site/
# Not with --quiet, which hides the warnings that --strict counts.
	@NO_MKDOCS_2_WARNING=1 $(RUN)mkdocs build
	@echo "open site/index.html, or serve it: .venv/bin/mkdocs serve"

pictures: dev ## draw the pictures of the documentation (needs Chromium)
	@$(RUN)python docs/site/concept_pictures.py
	@$(RUN)python docs/site/dashboard_pictures.py

notebooks: dev ## run the notebooks and write their outputs anew, or some of them (NOTEBOOKS="02 05")
	@$(RUN)python docs/site/run_notebooks.py $(NOTEBOOKS)

bench: dev ## run the benchmarks and print their ratios
	@$(UV) sync --frozen --quiet --inexact --group dev --group bench --python "$$(python3 -c 'import sys; print(sys.executable)')"
	@UV=$(UV) $(RUN)python benchmarks/run.py

bench-large: dev ## print the table of growth at a million stored events and at ten (BENCH_GROWTH_EVENTS=…)
	@$(RUN)python benchmarks/run.py growth
