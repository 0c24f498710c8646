.DEFAULT_GOAL := help
SHELL := /bin/bash
# Use the machine's own Python: nothing is downloaded but packages.
export UV_PYTHON_DOWNLOADS := never
UV := $(shell command -v uv 2>/dev/null || echo .tools/uv/bin/uv)
RUN := .venv/bin/
# The environment is made again only when what it is made from changes.
STAMP := .venv/.setup-$(shell cat pyproject.toml uv.lock 2>/dev/null | cksum | cut -d' ' -f1)

.PHONY: help setup dev demo test check bench serve format

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.tools/uv/bin/uv:
	@echo "uv is not on this machine: installing it into .tools/"
	@python3 -m venv .tools/uv 2>/dev/null && .tools/uv/bin/python -m pip install --quiet uv \
	  || { rm -rf .tools/uv && python3 -m pip install --quiet --target .tools/uv uv; }

$(STAMP): $(filter .tools/%,$(UV))
	@$(UV) sync --frozen --quiet --inexact --python "$$(command -v python3)"
	@touch $@

.venv/.dev-$(notdir $(STAMP)): $(STAMP)
	@$(UV) sync --frozen --quiet --inexact --group dev --python "$$(command -v python3)"
	@touch $@

setup: $(STAMP) ## make .venv with the truelift command

dev: .venv/.dev-$(notdir $(STAMP)) ## setup, and what the tests and checks need

demo: setup ## generate a shop, roll it up, print the verdicts and serve them
	@$(RUN)truelift demo

serve: setup ## serve the store in data/store on port 8000
	@$(RUN)truelift serve --data-dir data/store --host 127.0.0.1 --port 8000

test: dev ## every test, and those of the catalog on PostgreSQL too
	@$(RUN)python -m pytest -n auto
	@$(RUN)python -m pytest -n auto --catalog=postgresql tests/api tests/pipeline/store/catalog

# The promises that nobody may break by a small change, in seconds; everything else waits for `make test`.
QUICK_TESTS := tests/engine/test_known_mistakes.py tests/engine/analysis/report/test_decision.py \
  tests/engine/design/test_assignment.py tests/engine/design/test_lifecycle.py tests/test_architecture.py

check: dev ## format, lint, types, import rules and the quick tests
	@$(RUN)ruff format --check --quiet . || { echo "run 'make format'"; exit 1; }
	@$(RUN)ruff check --quiet .
	@$(RUN)mypy --num-workers auto
	@$(RUN)lint-imports --no-logo 2>/dev/null || $(RUN)lint-imports
	@$(RUN)python -m pytest -q -n 0 -m "not slow" $(QUICK_TESTS)

format: dev ## format the code and mend what the linter can
	@$(RUN)ruff format --quiet .
	@$(RUN)ruff check --fix --quiet .

bench: dev ## print every benchmark's ratios
	@$(UV) sync --frozen --quiet --inexact --group dev --group bench --python "$$(command -v python3)"
	@UV=$(UV) $(RUN)python benchmarks/run.py
