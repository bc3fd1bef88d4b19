# make test: build, lint, tests, examples, docs.  make bench: the survey on this machine.
# Both work in a clean clone that has Python >= 3.11, make and a C++20 compiler.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
PEERS ?= light
PROFILE ?= quick
PYTEST_ARGS ?=

CPP := $(shell find native tests -name '*.cpp' -o -name '*.h')
PACKAGE := CMakeLists.txt README.md pyproject.toml $(CPP) $(shell find cmake native src -name '*.cmake' -o -name '*.def' -o -name '*.py' -o -name '*.pyi' -o -name '*.j2' -o -name '*.json')

.PHONY: all test bench lint format generated dev wheel clean
all: $(VENV)/installed

# The first pip of an environment may be too old to know dependency groups.
$(VENV)/tools: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --upgrade 'pip>=25.1'
	$(PIP) install --group dev
	touch $@

# The package as users get it: built into a wheel, installed. The build folder is kept, so that this is quick
# when little has changed.
$(VENV)/installed: $(VENV)/tools $(PACKAGE)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-build-isolation '.[bench,examples]'
	touch $@

$(VENV)/peers-$(PEERS): $(VENV)/installed
	$(PIP) install jax
	if [ "$(PEERS)" = torch ]; then $(PIP) install torch==2.13.0; fi
	touch $@

test: lint
	$(BIN)/python -m pytest $(PYTEST_ARGS)

bench: $(VENV)/peers-$(PEERS)
	$(BIN)/taenite bench run large_ad --profile $(PROFILE)

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy tests/typing
	PYTHONPATH=src $(BIN)/lint-imports
	$(BIN)/python tools/check_weak_symbols.py build
	$(BIN)/python tools/stub.py --check
	$(BIN)/python tools/operations.py --check

format: $(VENV)/tools
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(CPP)

# What is generated and committed: the stub of the native module, the table of operations.
generated: $(VENV)/installed
	$(BIN)/python tools/stub.py
	$(BIN)/python tools/operations.py

wheel: $(VENV)/tools
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) wheel . --no-deps --no-build-isolation -w dist

# In-tree build for development: src/taenite/_core*.so, with the interpreter DEV, ninja and, if there, ccache.
DEV ?= $(BIN)/python
dev:
	cmake -S . -B build/dev -G Ninja -DPython_EXECUTABLE=$$(realpath -s $(DEV)) \
	  -DCMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache) -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/src/taenite
	cmake --build build/dev -j2

clean:
	rm -rf build dist $(VENV)
