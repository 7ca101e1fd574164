# Every target creates the environment it needs; nothing but Python (>= 3.10), git and make is assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint clean

demo: $(VENV)/.demo  ## the main job: GP against tcGP on Goldstein-Price, picture saved as demo.png
	$(BIN)/tcgp demo

test: $(VENV)/.test  ## lint, type-check, test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest
	$(BIN)/python -m pytest --doctest-modules src --ignore=src/tcgp/__main__.py

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[plot]"
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet -e ".[test]"
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
