# make test: build, lint, tests, examples, docs.  make bench: the survey on this machine.
# Both work in a clean clone that has Python >= 3.11, make and a C++20 compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PEERS ?= light
PROFILE ?= quick

NATIVE := CMakeLists.txt pyproject.toml $(shell find native cmake src/taenite -name '*.cpp' -o -name '*.h' -o -name '*.cmake' -o -name '*.py')
SOURCES := $(shell find native tests -name '*.cpp' -o -name '*.h')

.PHONY: all test bench lint format stub dev wheel clean
all: $(VENV)/installed

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'

# The package as users get it: built into a wheel, installed.
$(VENV)/installed: $(BIN)/python $(NATIVE)
	$(PIP) install '.[bench,examples]'
	touch $@

$(VENV)/tools: $(BIN)/python pyproject.toml
	$(PIP) install --group lint --group test
	touch $@

$(VENV)/peers-$(PEERS): $(VENV)/installed
	$(PIP) install jax
	if [ "$(PEERS)" = torch ]; then $(PIP) install torch==2.13.0; fi
	touch $@

test: $(VENV)/installed $(VENV)/tools lint
	$(BIN)/python -m pytest

bench: $(VENV)/installed $(VENV)/peers-$(PEERS)
	$(BIN)/taenite bench run large_ad --profile $(PROFILE)

lint: $(VENV)/installed $(VENV)/tools
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(SOURCES)
	$(BIN)/python -m mypy
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python tools/check_weak_symbols.py build
	$(BIN)/python tools/check_stub.py

format: $(VENV)/tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(SOURCES)

stub: $(VENV)/installed $(VENV)/tools
	$(BIN)/python tools/check_stub.py --write

wheel: $(BIN)/python
	$(PIP) wheel . --no-deps -w dist

# In-tree build for development: src/taenite/_core*.so, with the interpreter DEV, ninja and, if there, ccache.
DEV ?= $(BIN)/python
dev:
	cmake -S . -B build/dev -G Ninja -DPython_EXECUTABLE=$$(realpath -s $(DEV)) \
	  -DCMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache) -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/src/taenite
	cmake --build build/dev -j2

clean:
	rm -rf build dist $(VENV)
