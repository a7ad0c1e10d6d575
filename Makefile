# Every target sets up what it needs, in .venv, from a machine with Python >= 3.11 and a package index.

VENV := .venv
PY := $(VENV)/bin/python

# The first Python that the pinned wheels exist for; `make PYTHON=...` overrides.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python3.14; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' \
	>/dev/null 2>&1 && { echo $$p; break; }; done)

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
INSTALL = -m pip install -qq

WORKERS ?= 2
PYTEST = $(PY) -m pytest -q -n $(WORKERS)
SOURCES = setup.py effax effects interpreters backends tests $(wildcard docs examples papers benchmarks)

.PHONY: help accelerators accelerators-compilers test test-all check lint types pyright tensorflow ray layers paths processors unit fuzz hostile conformance conformance-day demo papers bench \
	libraries libraries-own array-api site dist release format sizes names clean

help:
	@echo "make test      style, types, layers, tests and doctests (without the slow ones)"
	@echo "make test-all  the same with the slow ones"
	@echo "make pyright   examples, papers and programs of users under the second type checker"
	@echo "make mutants   small mistakes in each rule, and which law finds them"
	@echo "make tensorflow  jax2tf, where TensorFlow is installed"
	@echo "make ray       a job of processes that Ray starts, and starts again"
	@echo "make accelerators  compile all cells for a TPU and a GPU that are not there"
	@echo "make paths     the tests with fast paths switched off, all and each, and on at all sizes"
	@echo "make hostile   sizes, threads, forks, interpreter exit, hostile files: the slow ones too"
	@echo "make fuzz      random questions to effax and JAX, for SECONDS=120"
	@echo "make processors  linear algebra with the kernels of two other processors"
	@echo "make demo      examples/demo.py: a small training run"
	@echo "make papers    the papers, reproduced"
	@echo "make bench     measurements, against jax where it can be installed"
	@echo "make conformance  JAX's own tests, asked of effax: GROUPS=lax,numpy, JAX_REPO=a bare copy of its repository"
	@echo "make libraries  optax, flax and others, as published, where jax is effax"
	@echo "make libraries-own  tests that libraries have themselves, on JAX and on effax: LIBRARY=\"optax chex\""
	@echo "make array-api  the array API standard's conformance suite, known failures apart"
	@echo "make site      the documentation with pictures, search and a reference of all public names, in build/site"
	@echo "make dist      wheel and sdist, in dist/"
	@echo "make release   the same of a tagged commit, built twice, compared and tried: REHEARSE=1 without the tag"
	@echo "make format    let ruff format and fix;  make names: accept a change of the public names"
	@echo "make sizes     the longest files;        make clean: remove everything made"

# ---- environments: a stamp says that a file of requirements is installed

# Beside $(VENV), a folder of its own for a stamp, with what its first file of requirements names.
define ENVIRONMENT
	@test -n "$(PYTHON)" || { echo "no Python 3.11 to 3.14 with venv found: make PYTHON=/path/to/python"; exit 1; }
	@$(@D)/bin/python -c "" 2>/dev/null || $(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python $(INSTALL) --require-hashes -r $<
endef

$(VENV)/.runtime: requirements/runtime.txt pyproject.toml setup.py
	@test -n "$(PYTHON)" || { echo "no Python 3.11 to 3.14 with venv found: make PYTHON=/path/to/python"; exit 1; }
	@$(PY) -c "" 2>/dev/null || { echo "setting up $(VENV) with `$(PYTHON) --version`"; $(PYTHON) -m venv --clear $(VENV); }
	@$(PY) $(INSTALL) --require-hashes -r requirements/runtime.txt
	@$(PY) $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.runtime
	@$(PY) $(INSTALL) --require-hashes -r requirements/test.txt
	@touch $@

# jax is kept out of .venv: nothing that is tested may find it there.
$(VENV)-bench/.bench: requirements/bench.txt requirements/runtime.txt pyproject.toml setup.py
	$(ENVIRONMENT)
	@$(@D)/bin/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# JAX's own tests run here: what they import, and no jax.
$(VENV)-conformance/.conformance: requirements/conformance.txt requirements/runtime.txt
	$(ENVIRONMENT)
	@touch $@

# The compilers for chips make clients where they are found, so they have a place of their own.
$(VENV)-accelerators/.accelerators: requirements/accelerators.txt requirements/test.txt requirements/runtime.txt
	$(ENVIRONMENT)
	@$(@D)/bin/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# TensorFlow beside effax: its functions in effax, and effax's in it.
$(VENV)-tensorflow/.tensorflow: requirements/tensorflow.txt requirements/test.txt requirements/runtime.txt
	$(ENVIRONMENT)
	@$(@D)/bin/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

# Ray as the launcher of a job of processes.
$(VENV)-ray/.ray: requirements/ray.txt requirements/test.txt requirements/runtime.txt
	$(ENVIRONMENT)
	@$(@D)/bin/python $(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)-site/.site: requirements/runtime.txt requirements/site.txt
	$(ENVIRONMENT)
	@$(@D)/bin/python $(INSTALL) --require-hashes -r requirements/site.txt
	@touch $@

$(VENV)-pyright/.pyright: requirements/pyright.txt
	$(ENVIRONMENT)
	@touch $@

# ---- checks
#
# On two quiet cores: test, 15 minutes; paths, 2 hours; test-all, 60 and what the grid's search takes
# (where no Python with jax is found it is skipped).

test: check unit

test-all: check pyright tensorflow ray $(VENV)/.test
	$(PYTEST)

check: lint types layers

lint: $(VENV)/.test
	$(PY) -m ruff check $(SOURCES)
	$(PY) -m ruff format --check $(SOURCES)

types: $(VENV)/.test
	$(PY) -m mypy

# mypy, which `make types` runs, checks the library; pyright what is written with it.
pyright: $(VENV)/.test $(VENV)-pyright/.pyright
	$(PY) -m tests.typing.checkers $(VENV)-pyright/bin/pyright

# Compiles for a TPU and a GPU that are not there: 2 GB of wheels, and ten minutes; EVERY=20 asks a twentieth.
EVERY ?= 1
accelerators-compilers: $(VENV)-accelerators/.accelerators
accelerators: accelerators-compilers
	EFFAX_PLATFORMS=cpu $(VENV)-accelerators/bin/python -m pytest -q tests/accelerators
	EFFAX_PLATFORMS=cpu $(VENV)-accelerators/bin/python -m tests.accelerators --every $(EVERY)

# jax2tf: half a gigabyte of wheels, and half a minute.
tensorflow: $(VENV)-tensorflow/.tensorflow
	EFFAX_PLATFORMS=cpu TF_CPP_MIN_LOG_LEVEL=3 $(VENV)-tensorflow/bin/python -m pytest -q tests/tf

# A job by Ray with a process killed: a hundred megabytes of wheels, and a minute.
ray: $(VENV)-ray/.ray
	EFFAX_PLATFORMS=cpu $(VENV)-ray/bin/python -m pytest -q tests/processes/test_ray.py

layers: $(VENV)/.test
	$(VENV)/bin/lint-imports

# CONTRIBUTING.md says what of the suite is run with which fast paths.
COMPILED = -m slow tests/laws/test_laws.py -k compiled
AT_ALL_SIZES = -p tests.backends.paths_at_all_sizes
paths: $(VENV)/.test
	EFFAX_FAST_PATHS=none $(PYTEST) -m "not slow"
	EFFAX_FAST_PATHS=none $(PYTEST) $(COMPILED)
	$(PYTEST) $(AT_ALL_SIZES) -m "not slow" tests/effects tests/laws tests/backends tests/numpy
	$(PYTEST) $(AT_ALL_SIZES) $(COMPILED)
	$(PY) -m tests.backends.without_paths -n $(WORKERS)

# LAPACK's answers where OpenBLAS takes the kernels of other processors. Prescott's are left out: there ssymv
# of a lower triangle of n = 2, 3, 6, 7 rows reads its own stale buffer (with SciPy alone, after sgemm of NaN).
ALGEBRA = tests/linalg tests/grid/test_numpy.py tests/grid/test_modules.py
processors: $(VENV)/.test
	for kernels in Haswell Zen; do \
		OPENBLAS_CORETYPE=$$kernels $(PYTEST) -p tests.rotation -m "not slow" $(ALGEBRA) \
			-k "linalg or matri or eig or svd or schur or condensed or right_sides" || exit 1; done

# Of the tests that take long an eighth a day (tests/rotation.py); test-all asks all.
unit: $(VENV)/.test
	$(PYTEST) -p tests.rotation -m "not slow"

# Small mistakes in each rule, and which law finds them (docs/mutants.md has the seconds); test-all asks them too.
mutants: $(VENV)/.test
	$(PY) -m tests.mutants

# What nobody writes on purpose, and what somebody may: tests/hostile, those marked slow included.
# One process: several of its tests want all cores, or most of the memory.
hostile: $(VENV)/.test
	$(PY) -m pytest -q tests/hostile

# JAX's own tests, from a bare copy of its repository (JAX_REPO), against effax; what effax did not pass, against jax.
GROUPS ?= all
CONFORM = $(VENV)-conformance/bin/python tests/conformance/conform.py --workers $(WORKERS)
conformance: $(VENV)-conformance/.conformance $(VENV)-bench/.bench
	$(CONFORM) --groups $(GROUPS)

# A sample of the day, in about two minutes: fails on what jax passes and neither results/ nor reasons.toml has.
conformance-day: $(VENV)-conformance/.conformance $(VENV)-bench/.bench
	$(CONFORM) --day

# Goes on where the last run of the day ended; the journal is in build/fuzz (tests/fuzz/__main__.py).
SECONDS = 120
fuzz: $(VENV)/.test $(VENV)-bench/.bench
	$(PY) -m tests.fuzz --seconds $(SECONDS)

# ---- things to run

demo: $(VENV)/.runtime
	@echo "examples/demo.py: a small training run, from data to a falling loss"
	@$(PY) examples/demo.py

papers: $(VENV)/.test
	$(PY) papers/reproduce.py build/papers

bench: $(VENV)-bench/.bench
	$(VENV)-bench/bin/python -m benchmarks.run

# Libraries written for JAX, as published, and what their users write.
libraries: $(VENV)/.test
	$(PY) $(INSTALL) --no-deps --upgrade --target build/libraries --require-hashes -r requirements/libraries.txt
	$(PY) -m pytest -q tests/libraries

# Their own tests, on JAX and then on effax, with a row of docs/libraries.md for each (tests/libraries/suites.py).
LIBRARY ?=
libraries-own: $(VENV)/.test $(VENV)-bench/.bench
	$(PY) $(INSTALL) --no-deps --upgrade --target build/libraries --require-hashes -r requirements/libraries.txt
	$(PY) $(INSTALL) --no-deps --upgrade --target build/own-needs -r tests/libraries/needs.txt
	$(PY) tests/libraries/own_suites.py --path build/libraries --path build/own-needs $(LIBRARY)

# The suite of the array API standard, at a commit whose reports known_failures.txt records.
ARRAY_API_TESTS ?= https://github.com/data-apis/array-api-tests
ARRAY_API_COMMIT ?= 55fcc60
ARRAY_API_EXAMPLES ?= 100
array-api: $(VENV)/.test
	test -d build/array-api-tests || git clone -q $(ARRAY_API_TESTS) build/array-api-tests
	cd build/array-api-tests && git checkout -q $(ARRAY_API_COMMIT) && git submodule update -q --init
	$(PY) $(INSTALL) --upgrade --target build/array-api-needs -r build/array-api-tests/requirements.txt
	cd build/array-api-tests && EFFAX_ENABLE_X64=1 ARRAY_API_TESTS_MODULE=effax.numpy \
	  PYTHONPATH=$(CURDIR):$(CURDIR)/build/array-api-needs $(CURDIR)/$(PY) -m pytest -q -p no:cacheprovider \
	  array_api_tests --derandomize --disable-deadline --max-examples $(ARRAY_API_EXAMPLES) \
	  --xfails-file $(CURDIR)/tests/array_api/known_failures.txt

# Pages, pictures and reference; warnings are errors. EFFAX_SITE_OFFLINE=1 leaves out the links to other projects.
site: $(VENV)-site/.site
	$(VENV)-site/bin/python -m sphinx -q -W --keep-going -c docs . build/site
	@echo "build/site/index.html"

# Through the sdist: a wheel built from a tree in use can carry modules deleted since.
dist: $(VENV)/.test
	rm -rf build dist
	$(PY) -m build --no-isolation

release:
	PYTHON=$(PYTHON) .ci/release

# ---- housekeeping

format: $(VENV)/.test
	$(PY) -m ruff check --fix --exit-zero $(SOURCES)
	$(PY) -m ruff format $(SOURCES)

names: $(VENV)/.test
	EFFAX_UPDATE_PUBLIC_NAMES=1 $(PY) -m pytest -q tests/architecture/test_public_names.py

sizes:
	@find effax effects interpreters backends -name '*.py' -exec wc -l {} + | sort -rn | head -30

clean:
	rm -rf $(VENV) $(VENV)-bench $(VENV)-conformance $(VENV)-pyright $(VENV)-site $(VENV)-tensorflow $(VENV)-ray build dist docs/reference *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
