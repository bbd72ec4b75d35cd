# make run    sets up what this machine needs and opens the walkthrough (ARGS="--list" passes options on)
# make test   sets up everything and runs every check and test that this machine can run
# make quick  the same without the slow tests            make lint   style, types, import contracts
# make coverage  which lines the tests reach             make clean  removes what these made

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$$p"; break; }; done)
IN := .venv/bin/python

.PHONY: run test quick lint coverage clean python
.DEFAULT_GOAL := run

python:
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	{ echo "gpu-explain needs Python 3.11 or newer, and none was found: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }

run: python
	@"$(PYTHON)" tools/environment.py run
	@.venv/bin/gpu-explain $(ARGS)

test: python
	@"$(PYTHON)" tools/environment.py test
	@$(IN) tools/check.py

quick: python
	@"$(PYTHON)" tools/environment.py test
	@$(IN) tools/check.py -- -m "not slow"

lint: python
	@"$(PYTHON)" tools/environment.py test
	@$(IN) tools/check.py --only lint

coverage: python
	@"$(PYTHON)" tools/environment.py test
	@$(IN) -m coverage erase
	@$(IN) -m coverage run -m pytest tests/unit tests/ui
	@TRITON_INTERPRET=1 $(IN) -m coverage run -m pytest tests/interpret
	@$(IN) -m coverage combine && $(IN) -m coverage report

clean:
	rm -rf .venv build dist *.egg-info .coverage* htmlcov .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
