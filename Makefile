# Every target creates the environment it needs; nothing but Python (>= 3.11), git and make is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is made when a module is first imported, not for all of PyTorch at once: half the time.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile
# Bytecode is kept whatever the environment says: the tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
# How many processes run the tests: some wait for programs, so that three use two cores better than two.
JOBS ?= 3

.PHONY: demo test bench browser docs examples release-check clean

demo: $(VENV)/.demo  ## the main job: a plain GP, tcGP and auto on Goldstein-Price, picture saved as demo.png
	$(BIN)/tcgp demo

test:  ## lint, type-check, test; every example of the documentation is run
	@$(MAKE) --no-print-directory -j 2 $(VENV)/.test browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@# One core imports all modules, so that not every test process compiles them anew; mypy goes on beside the tests.
	@# One thread for BLAS and Torch in each process: the matrices are small, and more would wait for each other.
	@$(BIN)/mypy & mypy=$$!; \
	$(BIN)/python -m pytest --collect-only --doctest-modules tests src >/dev/null 2>&1; \
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -rs -n $(JOBS) --doctest-modules tests src; tests=$$?; \
	wait $$mypy && exit $$tests

bench: $(VENV)/.test  ## the work of an iteration, and its time in units of LAPACK and exp: results/history.csv, a picture
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/speed/history.py

examples: $(VENV)/.demo  ## examples with real simulators, where they are installed
	@for part in "ngspice ngspice opamp ngspice" "ccx calculix cantilever calculix-ccx" \
	    "ccx calculix front calculix-ccx"; do \
	    set -- $$part; \
	    if command -v $$1 >/dev/null 2>&1; then \
	        (cd examples/$$2 && ../../$(BIN)/tcgp minimize $$3.toml --report $$3.html) || exit 1; \
	    else echo "examples/$$2 is skipped: apt-get install $$4"; fi; \
	done

docs: $(VENV)/.docs  ## the documentation site: build/docs/index.html; a warning or a dead link is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -b html docs build/docs
	@echo "the site is in build/docs: open build/docs/index.html"

release-check: $(VENV)/.test  ## wheel and sdist in fresh environments, on every Python that is found; see RELEASING.md
	$(BIN)/python tools/release_check.py

browser:  ## Chromium for the tests of the report: one that is there, or Debian's package if it can be installed
	@for name in "$$TCGP_CHROMIUM" chromium chromium-browser google-chrome google-chrome-stable; do \
	    if command -v "$$name" >/dev/null 2>&1; then exit 0; fi; \
	done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then \
	    echo "installing Debian's chromium for the tests of the report"; \
	    apt-get -qq update >/dev/null 2>&1; \
	    DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends chromium >/dev/null 2>&1 \
	        || echo "that did not work: the tests of the report in a browser will be skipped"; \
	fi

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(INSTALL) -e ".[plot]"
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(INSTALL) --only-binary=:all: -e ".[test]"
	@# COCO compiles where it has no wheel; that must not stop the tests of the rest.
	$(INSTALL) --prefer-binary "coco-experiment>=2.6" \
	    || echo "coco-experiment could not be installed: the tests of COCO will be skipped"
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(INSTALL) -e ".[docs]"
	touch $@

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache
