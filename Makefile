# SPDX-License-Identifier: BSD-3-Clause
# Everything here needs only make and Python 3.11 or later; the rest is installed into $(VENV) once.
#
#   make install              nothing but the installation
#   make figures              every figure, table and verdict at the smoke scale, in minutes
#   make test                 the tests; `make help` lists the targets of the others
#   make lint                 style of code and workflow
#   make docs                 the documentation, into site/
#   make figures CONFIGFILE=config/desktop.yaml CORES=2
#   make figures PYTHON=/some/python3.12

.SILENT:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# Each job and many a test is a process, which would compile this package to byte code anew.
unexport PYTHONDONTWRITEBYTECODE

VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check -qq
CONFIGFILE ?= config/smoke.yaml
CORES ?= all
TARGETS ?= all

.PHONY: install figures unlock test test-processor test-slow test-cluster test-browser lint check docs format lock schema \
	clean help

# Names as words that no shell reads anything into; $(value) keeps make from it, too.
quoted = $(foreach word,$(value $(1)),'$(subst ','\'',$(word))')

install: $(INSTALLED)  ## install everything into $(VENV), and nothing else

figures: $(INSTALLED)  ## every figure, table and verdict of $(CONFIGFILE)
	exec $(BIN)/snakemake --cores $(call quoted,CORES) --configfile $(call quoted,CONFIGFILE) -- $(call quoted,TARGETS)

unlock: $(INSTALLED)  ## remove the lock that a killed Snakemake has left; run `make figures` again afterwards
	$(BIN)/snakemake --unlock --cores 1 --configfile $(call quoted,CONFIGFILE)

# Three at a time on two cores: some wait for Snakemake.
test: $(INSTALLED)  ## the tests
	$(BIN)/python -m pytest -n 3 --dist worksteal

# NumPy, OpenBLAS, glibc and Numba round as on an x86-64 processor of 2008: no test may rest on the rounding of this one.
OLD_PROCESSOR := NPY_DISABLE_CPU_FEATURES='X86_V3 X86_V4 AVX512_ICL AVX512_SPR' OPENBLAS_CORETYPE=Nehalem \
	NUMBA_CPU_NAME=nehalem NUMBA_CPU_FEATURES= \
	GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4,-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD
NUMERICAL := kernels likelihood model estimators samplers updates measurements conformance

test-processor: $(INSTALLED)  ## the numerical tests as on an x86-64 processor without AVX
	$(OLD_PROCESSOR) $(BIN)/python -m pytest -n 2 --dist worksteal $(NUMERICAL:%=tests/unit/%) \
		--ignore=tests/unit/kernels/test_kernels_cuda.py

test-slow: $(INSTALLED)  ## the tests that take long
	$(BIN)/python -m pytest -n 2 -m slow

test-cluster: $(INSTALLED)  ## the workflow on a SLURM of one node, where root runs the tests and SLURM is installed
	$(BIN)/python -m pytest -m "cluster and not slow" tests/workflow/test_slurm.py

test-browser: $(INSTALLED)  ## the page of results in a browser, where chromium is installed
	$(BIN)/python -m pytest -m browser tests/browser

lint: $(INSTALLED)  ## style of code and workflow
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/snakefmt --check Snakefile workflow
	$(BIN)/snakemake --lint

check: format schema lint test docs  ## all that a change needs: generated files written anew, style, types, tests and docs

docs: $(INSTALLED)  ## the documentation site, into site/; runs its examples
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going -c docs . site
	echo "Done: open site/index.html"

format: $(INSTALLED)  ## bring code and workflow into style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/snakefmt Snakefile workflow

schema: $(INSTALLED)  ## write config/schemas and config/KEYS.md from the models, and answers into the pages
	$(BIN)/python -m rbmbench config schema
	$(BIN)/python docs/keys.py
	$(BIN)/python docs/answers.py

# The lock holds for every Python and system the package is for, and names no package index. The extras for GPUs are
# left out: each is for one kind of machine.
lock: $(INSTALLED)  ## pin the newest versions anew in requirements.lock
	$(PIP) install uv
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --upgrade --extra workflow --extra slurm --extra dev \
		--extra docs --no-header --no-annotate --no-emit-index-url --no-emit-find-links pyproject.toml -o requirements.lock.new
	{ echo '# Pinned versions of everything `make` installs; written by `make lock`. Holds no index addresses.'; \
		cat requirements.lock.new; } > requirements.lock
	rm requirements.lock.new

clean:  ## remove caches and the results of the smoke scale; not $(VENV), nor other results
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site docs/api docs/gallery results/smoke
	find src tests benchmarks workflow docs conformance -name __pycache__ -type d -prune -exec rm -rf {} +

help:  ## this list
	sed -n 's/^\([a-z-]*\):.*## /\1: /p' $(firstword $(MAKEFILE_LIST))

CANDIDATES := $(if $(PYTHON),"$(PYTHON)",python3.11 python3.12 python3 python3.13 python3.14 python)

$(INSTALLED): requirements.lock pyproject.toml
	for candidate in $(CANDIDATES); do \
		if "$$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
			echo "Installing the pinned packages into $(VENV) with $$("$$candidate" --version): once, some minutes"; \
			$(BIN)/python -m pip --version > /dev/null 2>&1 || "$$candidate" -m venv $(VENV); \
			exit; \
		fi; \
	done; \
	echo 'make: error: found no Python with venv among: $(CANDIDATES); needed: 3.11 or later; name it by PYTHON=PATH' >&2; \
	exit 2
	$(PIP) install -r requirements.lock
	$(PIP) install --no-deps --no-build-isolation -e .
	touch $@
