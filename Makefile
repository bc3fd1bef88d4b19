PYTHON ?= python3

# In-tree build for development: src/taenite/_core*.so, with the interpreter of DEV.
DEV ?= .venv/bin/python
.PHONY: dev
dev:
	cmake -S . -B build/dev -G Ninja -DPython_EXECUTABLE=$$(realpath -s $(DEV)) -DCMAKE_CXX_COMPILER_LAUNCHER=$$(command -v ccache) \
	  -DCMAKE_LIBRARY_OUTPUT_DIRECTORY=$(CURDIR)/src/taenite > build-dev.log || (cat build-dev.log; exit 1)
	cmake --build build/dev -j2
