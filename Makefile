# Every command sets up what it needs in .venv: with uv where it is installed, with python3's venv and pip where not.
# The second run finds its stamp file and starts at once.
#
#   make lab     JupyterLab on notebooks/             make lab ARGS="--no-browser --port 8899"
#   make quick   the tests for every save             make quick ARGS="-k parser"
#   make test    lint, types and the whole suite      make slow: the long sweeps besides
#   make check   ruff, mypy, and where node is tsc,   make format: let ruff and prettier rewrite
#                eslint and the JavaScript's tests
#   make bench   the benchmarks                       make clean: remove .venv and caches
#   make gpu     everything that wants a GPU, measured    make gpu ARGS="--budget 540"   (docs/gpu.md)
#   make bundle  the editor's JavaScript from frontend/ (needs node; the bundle is committed)
#   make notebooks: write notebooks/ anew from ptxlab/course/notebooks/
#   make docs    the documentation, into docs/_build/html

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# One more than there are cores: tests that wait for a page or a process leave theirs to others.
JOBS ?= $(shell $(PYTHON) -c "import os; cores = getattr(os, 'sched_getaffinity', lambda _: range(os.cpu_count() or 1))(0); print(min(8, len(cores) + 1))")

BIN := $(VENV)/bin
# A file's tests stay in order on one worker: those of the explorer share a browser, others share what they built. The
# plugins are named because pytest rewrites the assertions of every package that brings one by itself: all of ptxlab.
PYTEST := $(BIN)/python -m pytest --disable-plugin-autoload -p xdist -p hypothesispytest -p ptxlab.testing.plugin \
    -n $(JOBS) --maxprocesses 8 --dist loadfile
NODE := frontend/node_modules
PRETTIER := $(NODE)/.bin/prettier --config frontend/package.json
# The bundle and the lists of words are written by programs.
SCRIPTS := 'frontend/*.{js,mjs,ts}' 'frontend/tests/*.js' 'ptxlab/lab/static/*.js' '!frontend/words.js' '!ptxlab/lab/static/editor.js'
# $(1): the target, $(2): what is left out where there is no node.
where_node_is = if command -v npm > /dev/null; then $(MAKE) --no-print-directory $(1); \
    else echo "ptxlab: there is no node on this machine, so $(2)"; fi
ROOT_OK := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)

.PHONY: docs help lab quick test slow check format javascript prettier bench gpu bundle notebooks clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   //p' Makefile

lab: $(VENV)/ready-lab
	@$(BIN)/python -m ptxlab.cli.doctor --missing lab
	@echo "ptxlab: opening JupyterLab on notebooks/ (Ctrl-C twice stops it)"
	@$(BIN)/python -m ptxlab warm > $(VENV)/warm.log 2>&1 &
	@exec $(BIN)/python -m jupyterlab notebooks $(ROOT_OK) \
	    --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate $(ARGS)

quick: $(VENV)/ready-test
	@$(PYTEST) --quick -m "not slow and not browser and not notebook" $(ARGS)

test: $(VENV)/ready-test
	@$(MAKE) --no-print-directory check & check=$$!; $(PYTEST) -m "not slow" $(ARGS); tests=$$?; \
	    wait $$check || { echo "ptxlab: make check has failed; its messages are above"; exit 1; }; exit $$tests

slow: $(VENV)/ready-test
	@$(PYTEST) -m slow $(ARGS)

check: $(VENV)/ready-test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/python -m mypy
	@$(call where_node_is,javascript,the JavaScript is not checked)

format: $(VENV)/ready-test
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(call where_node_is,prettier,the JavaScript is not formatted)

javascript: $(NODE)/ready
	@$(PRETTIER) --log-level warn --check $(SCRIPTS)
	@$(NODE)/.bin/eslint -c frontend/eslint.config.js ptxlab/lab/static frontend
	@$(NODE)/.bin/tsc -p frontend
	@node --test --test-reporter=dot frontend/tests/*.test.js

prettier: $(NODE)/ready
	@$(PRETTIER) --log-level warn --write $(SCRIPTS)

$(NODE)/ready: frontend/package-lock.json
	@cd frontend && npm ci --silent
	@touch $@

docs: $(VENV)/ready-test
	@$(BIN)/python -m sphinx -q -W --keep-going -b html -d docs/_build/doctrees docs docs/_build/html
	@echo "ptxlab: docs/_build/html/index.html"

bench: $(VENV)/ready-test
	@$(BIN)/python -m ptxlab bench $(ARGS)

# Installs nothing: a machine with a GPU may have no network, and its torch is that of its own Python.
gpu:
	@PYTHONPATH="$(CURDIR)" $(firstword $(wildcard $(BIN)/python) $(PYTHON)) -m benchmarks.gpu $(ARGS)

notebooks: $(VENV)/ready-lab
	@$(BIN)/python -m ptxlab.course.build $(ARGS)

bundle:
	@PYTHONPATH="$(CURDIR)" $(firstword $(wildcard $(BIN)/python) $(PYTHON)) frontend/words.py
	@$(MAKE) --no-print-directory $(NODE)/ready
	@cd frontend && node build.mjs

clean:
	@rm -rf $(VENV) docs/_build docs/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- set-up ------------------------------------------------------------------------------------------------------------

$(VENV)/ready-lab: pyproject.toml constraints.txt $(VENV)/ready-venv
	@$(call install,.[lab$(COMMA)nvidia],JupyterLab$(COMMA) the compiler and NVIDIA's assembler)
	@mkdir -p $(VENV)/etc/jupyter/labconfig
	@echo '{"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": true}}' \
	    > $(VENV)/etc/jupyter/labconfig/page_config.json
	@touch $@

$(VENV)/ready-test: $(VENV)/ready-lab
	@$(call install,.[test],the test tools)
	@touch $@

COMMA := ,
# $(1): what pip is to install, $(2): what to call it. One line a package; the whole of pip's words are in install.log.
define install
echo "ptxlab: installing $(2) into $(VENV) (a minute or two, once)"; \
if [ -x $(BIN)/pip ]; then \
    { $(BIN)/python -m pip install --disable-pip-version-check --no-input --progress-bar off \
          -c constraints.txt -e '$(1)' 2>&1; echo "status $$?"; } | tee $(VENV)/install.log | awk '\
        / (Downloading|Using cached) .*[.]whl \(/ { split($$(NF-2), part, "-"); \
            printf "  %3d  %s %s  %s %s\n", ++n, part[1], part[2], $$(NF-1), $$NF; fflush() } \
        /^Installing collected packages/ { printf "       unpacking %d packages\n", n; fflush() } \
        /^ERROR/ { print } \
        $$1 == "status" { failed = $$2 } \
        END { if (failed) print "ptxlab: the installation failed; the details are in $(VENV)/install.log"; exit failed }'; \
else uv pip install --python $(BIN)/python -c constraints.txt -e '$(1)'; fi
endef

$(VENV)/ready-venv:
	@if command -v uv > /dev/null; then uv venv -q --allow-existing --python '>=3.11' $(VENV); else \
	command -v $(PYTHON) > /dev/null || \
	    { echo "ptxlab: python 3.11 or newer is needed, and there is no $(PYTHON) on this machine"; exit 1; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "ptxlab: python 3.11 or newer is needed, $$($(PYTHON) --version) was found:" \
	           "name another with 'make lab PYTHON=python3.12'"; exit 1; }; \
	$(PYTHON) -c 'import venv, ensurepip' 2> /dev/null || \
	    { echo "ptxlab: $(PYTHON) has no venv: on Debian or Ubuntu run 'sudo apt install python3-venv'"; exit 1; }; \
	echo "ptxlab: making $(VENV) with $$($(PYTHON) --version)"; \
	$(PYTHON) -m venv $(VENV); fi
	@touch $@
