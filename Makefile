# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
# What `make setup` compiles at once; anything else is when it is first imported.
COMPILED ?= src .venv/lib
NPM := tests/conformance
NPM_READY := $(NPM)/node_modules/.ready
# The libraries that adapters are for, beside the environment: few who work here need them.
LIBRARIES := .adapters
LIBRARIES_READY := $(LIBRARIES)/.ready
# The texts of the web pages in other languages, compiled from what people write.
TEXTS := $(patsubst %.po,%.mo,$(wildcard src/minutebook/features/pages/locale/*/LC_MESSAGES/*.po))
# Test modules are compiled once, not by each process anew, whatever the environment says.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest

# What a lock names: $(1) is what uv does, $(2) options of both, $(3) the lock as uv takes it. uv, which pip brings, installs
# in a quarter of pip's time. It reads no pip.conf: where it reaches nothing, pip installs.
define install_locked
$(BIN)/uv pip $(1) --quiet --python $(BIN)/python --require-hashes $(2) $(3) || \
  $(BIN)/python -m pip install --quiet --no-compile --require-hashes $(2) --requirement $(lastword $(3))
endef

.PHONY: help setup npm demo test test-all test-server test-adapters faults check format messages bench serve docs site pictures dist release lock clean

help:  ## Show what can be made.
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(READY)  ## Make the virtual environment, and derive the models.

$(READY): requirements.lock pyproject.toml $(wildcard tools/models/*)
	$(PYTHON) -m venv .venv
	sed -n '/^uv==/,/# via/p' requirements.lock > .venv/uv.lock
	$(BIN)/python -m pip install --quiet --no-compile --require-hashes --requirement .venv/uv.lock
	$(call install_locked,sync,,requirements.lock)
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@# On all cores, where pip uses one. What a package has for another Python alone is reported, and no error.
	-$(BIN)/python -m compileall -q -j 0 $(COMPILED)
	touch $(READY)

$(TEXTS): %.mo: %.po $(READY)
	$(BIN)/python tools/build_hook.py

npm: $(NPM_READY)  ## Install what the conformance tests run: the suite, the Inspector, Node.

$(NPM_READY): $(NPM)/package-lock.json
	cd $(NPM) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	touch $(NPM_READY)

demo: $(READY) $(TEXTS)  ## Store, recall, relate and supersede over a real MCP connection.
	$(BIN)/minutebook demo

test: $(READY) $(TEXTS)  ## Run a proof of every promise; FEATURE=tidying: its tests alone; TESTS="not slow": second proofs, too.
	$(PYTEST) -p tests.workers --workers 3 -m "$(or $(TESTS),not slow and not thorough)" $(FEATURE:%=tests/features/%) $(ARGS)

test-all: $(READY) $(TEXTS) $(NPM_READY)  ## Run every test, with many more examples.
	$(PYTEST) -p tests.workers --workers 2 --hypothesis-profile=all
	$(MAKE) test-server

test-server: $(READY) $(TEXTS)  ## Run the tests of the contracts on a PostgreSQL server (a third: ARGS="-m on_server").
	STORE_OF_TESTS=postgres $(PYTEST) -p tests.workers --workers 2 -m "not slow" tests/serve/contracts tests/features/*/contract $(ARGS)

$(LIBRARIES_READY): tools/adapters.lock $(READY)
	rm -rf $(LIBRARIES)
	$(call install_locked,install,--no-deps --target $(LIBRARIES),--requirement tools/adapters.lock)
	touch $(LIBRARIES_READY)

test-adapters: $(LIBRARIES_READY)  ## Run the tests of the adapters against the libraries that they are for.
	ADAPTERS=1 PYTHONPATH=$(LIBRARIES) $(PYTEST) tests/adapters $(ARGS)

faults: $(READY) $(TEXTS)  ## Provoke faults for hours (kills, full disks, floods), and write docs/reliability.md.
	FAULTS=long $(PYTEST) --timeout 0 tests/faults tests/features/sync/test_killed_syncs.py $(ARGS)
	$(MAKE) docs

check: $(READY) $(TEXTS)  ## Formatting, lint, types, layers, budgets, docs in step.
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_house.py
	$(BIN)/python tools/write_docs.py --check
	$(BIN)/python -P tools/messages.py --check

format: $(READY)  ## Put the code into its form.
	$(BIN)/ruff check --fix src tests benchmarks tools
	$(BIN)/ruff format src tests benchmarks tools

messages: $(READY)  ## Enter the pages' texts into the catalogues; German ones are then written by hand.
	$(BIN)/python -P tools/messages.py
	$(BIN)/python tools/build_hook.py

bench: $(READY)  ## Measure quality and speed, beside others; writes benchmarks/results/.
	$(BIN)/python -m benchmarks $(ARGS)

serve: $(READY) $(TEXTS)  ## Serve the knowledge contract over stdio.
	@$(BIN)/minutebook serve

docs: $(READY)  ## Write the pages that are made from the code.
	$(BIN)/python tools/write_docs.py

site: $(READY)  ## Build the site of the pages in docs/, into build/site; a dead link is an error.
	$(BIN)/python tools/build_site.py

pictures: $(READY)  ## Take the pictures of the pages that README and guides show; needs Chromium.
	$(BIN)/python -m tools.pictures

dist: $(READY)  ## Build all that a release offers into dist/: wheel, sdist, bundle, extensions, manifests, digests.
	$(BIN)/python -m tools.packages

release: $(READY) $(TEXTS)  ## Check and build a release, VERSION=1.2.3; uploads nothing. ARGS=--dry-run only looks.
	$(BIN)/python -m tools.packages.release $(VERSION) $(ARGS)

lock:  ## Pin every dependency, for every platform and Python, by hash.
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/python -m pip install --quiet uv
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --group dev --upgrade pyproject.toml tools/build.in --output-file requirements.lock
	.venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --constraint requirements.lock --upgrade tools/adapters.in --output-file .venv-lock/adapters.lock
	.venv-lock/bin/python tools/adapters_lock.py .venv-lock/adapters.lock tools/adapters.lock
	rm -rf .venv-lock

clean:  ## Remove what was made, the virtual environment included.
	rm -rf .venv .venv-lock $(LIBRARIES) $(NPM)/node_modules build dist benchmarks/results .mypy_cache .ruff_cache .pytest_cache .hypothesis
