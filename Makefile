# Each target in one or two lines; the logic is in tools/.
# PYTHON=python3.12 make test   picks the Python that builds .venv.

ENVIRONMENT = sh tools/python.sh tools/environment.py

.PHONY: help run test models bench oracle clean
.DEFAULT_GOAL := help

help: ## list the targets
	@sed -n 's/^\([a-z]*\): ## /  make \1\t/p' Makefile

run: ## serve the lab and open it (Ctrl-C stops it)
	@$(ENVIRONMENT) runtime
	@.venv/bin/normscope

test: ## linter, type checker and every test
	@$(ENVIRONMENT) dev
	@.venv/bin/python tools/check.py

models: ## download models that people deploy, for the tests that look into them (`make test` does it too)
	@$(ENVIRONMENT) dev
	@.venv/bin/python tools/models.py

bench: ## print the benchmark table
	@$(ENVIRONMENT) dev
	@.venv/bin/python -m benchmarks

oracle: ## install PyTorch and ONNX Runtime, record the golden vectors again, compare with it
	@$(ENVIRONMENT) oracle
	@.venv-oracle/bin/python -m tests.golden.record
	@.venv-oracle/bin/python -m tests.golden.record_comparison
	@.venv-oracle/bin/python -m tests.golden.record_rounding
	@.venv-oracle/bin/python -m tests.golden.record_backward
	@.venv-oracle/bin/python -m tests.golden.record_counts
	@.venv-oracle/bin/python -m tests.golden.record_graphs
	@.venv-oracle/bin/python -m pytest -m oracle

clean: ## remove the environments and what tools left behind
	@rm -rf .venv .venv-oracle .models .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
