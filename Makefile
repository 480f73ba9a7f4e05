# `make run` compares models on real data, `make test` tests; both set themselves up from a bare clone.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
NATIVE := CMakeLists.txt pyproject.toml $(wildcard native/*/*.?pp)
# The editable install knows the Python files by name: a new or removed one calls for another.
NAMES := $(VENV)/.names-$(shell find src/labelweave -name '*.py' | LC_ALL=C sort | cksum | tr ' ' '-')
CPP := $(wildcard native/*/*.?pp tests/native/*.?pp)

.PHONY: run test test-all test-browser test-simd test-simd-kernels test-sanitize test-fuzz lint format bench reproduce-quick build stubs clean check-tools

run: $(VENV)/.built  ## compare three models on the bundled emotions data
	$(BIN)/labelweave compare emotions --methods br,cc,pcc --folds 10

PYTEST := -m pytest -n 2 --dist loadgroup

test: $(VENV)/.dev  ## the fast suite
	$(BIN)/python $(PYTEST) --fast

test-all: $(VENV)/.dev  ## everything, slow tests too
	$(BIN)/python $(PYTEST)

BROWSERS := chromium chromium-browser google-chrome chrome
test-browser: $(VENV)/.dev  ## reports and the explorer in a real browser
	@for name in $(BROWSERS); do command -v $$name >/dev/null && exit 0; done; \
	  echo "installing chromium"; { apt-get -qq update && apt-get -qq install -y chromium >/dev/null; } || \
	  { echo "No browser: install chromium (Debian: apt-get install chromium)"; exit 1; }
	$(BIN)/python -m pytest -n 0 -m "browser and not slow" tests

# The tests of the kernels: what CI runs at every level, and what runs under sanitizers.
KERNEL_TESTS := tests/logistic tests/inference tests/joint tests/decision tests/online tests/native
SIMD_TESTS ?= tests src
SIMD_LEVELS ?= levels()

test-simd: $(VENV)/.dev  ## the fast suite (or SIMD_TESTS) at each SIMD level that this CPU has
	@for level in $$($(BIN)/python -c "from labelweave._cpu import levels; print(*$(SIMD_LEVELS))"); do \
	  echo "SIMD level $$level"; \
	  LABELWEAVE_SIMD=$$level $(BIN)/python $(PYTEST) --fast $(SIMD_TESTS) || exit 1; \
	done

# tests/native goes through the levels itself.
test-simd-kernels:  ## the kernels' tests at the levels below the best one, at which `make test` runs them
	$(MAKE) test-simd SIMD_TESTS="$(filter-out tests/native,$(KERNEL_TESTS))" SIMD_LEVELS="levels()[:-1]"

# A second environment that borrows the libraries of the first, but not its build of the package.
SANITIZED := build/sanitize
test-sanitize: $(VENV)/.dev  ## the kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer
	$(BIN)/python -m venv $(SANITIZED)/venv
	$(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))" \
	  > $$($(SANITIZED)/venv/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/borrowed.pth
	PATH="$(abspath $(BIN)):$$PATH" $(SANITIZED)/venv/bin/python -m pip --disable-pip-version-check --quiet install \
	  --no-deps --no-build-isolation --force-reinstall -C build-dir=$(SANITIZED)/cmake -C cmake.build-type=RelWithDebInfo \
	  -C cmake.define.LABELWEAVE_SANITIZE=address,undefined \
	  -C cmake.define.LABELWEAVE_LEVELS=$$($(BIN)/python -c "from labelweave._cpu import levels; print(levels()[-1])") .
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0 $(SANITIZED)/venv/bin/python $(PYTEST) --fast $(KERNEL_TESTS)

FUZZ_MINUTES ?= 5
test-fuzz: $(VENV)/.dev  ## random cases for FUZZ_MINUTES; seeds that break a promise are kept in tests/fuzz/seeds.txt
	$(BIN)/python -m tests.fuzz --minutes $(FUZZ_MINUTES) $(if $(FUZZ_SEED),--seed $(FUZZ_SEED))

lint: $(VENV)/.dev  ## format, style, types, direction of imports
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(VENV)/.dev
	$(BIN)/clang-format -i $(CPP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.dev  ## measure against scikit-learn, and write the tables anew
	$(BIN)/python -m benchmarks.logistic

reproduce-quick: $(VENV)/.built  ## a small part of the papers' experiments, on bundled data
	$(BIN)/labelweave reproduce all --quick --results build/reproduction

build: $(VENV)/.built

stubs: $(VENV)/.built  ## regenerate the types of the compiled module
	$(BIN)/python -m nanobind.stubgen -o src/labelweave/_native.pyi \
	  -m $$($(BIN)/python -c "from labelweave._core import native; print(native.__name__)")

clean:
	rm -rf $(VENV) build

check-tools:
	@command -v $(PYTHON) >/dev/null || { echo "labelweave needs Python 3.11 or newer: install python3 (Debian: apt-get install python3)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "labelweave needs Python 3.11 or newer; $(PYTHON) is older. Name another: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)"; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || { echo "The Python headers are missing (Debian: apt-get install python3-dev)"; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || { echo "A C++17 compiler is missing: install one (Debian: apt-get install g++) or name it in CXX"; exit 1; }

# Build tools live in the environment, so that rebuilding after an edit compiles only what changed.
$(VENV)/.tools: | check-tools
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.18" ninja
	@touch $@

$(VENV)/.names-%: | $(VENV)/.tools
	@rm -f $(VENV)/.names-*; touch $@

$(VENV)/.built: $(VENV)/.tools $(NAMES) $(NATIVE)
	$(PIP) install --no-build-isolation --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.built
	$(PIP) install --no-build-isolation --editable ".[dev]"
	@touch $@
