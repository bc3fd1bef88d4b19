"""Backends. A backend is one module with a class `Backend` and a line `REQUIRES`: adding one is one file.

Modules named ``NAME_backend.py`` in this directory are found, and so are files named by the environment
variable ``TAENITE_BENCH_ADAPTERS`` and entry points of the group ``taenite.bench.adapters``. Finding imports
nothing: an adapter is imported by the worker that runs it, after the process has been pinned.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from .base import Adapter

DEFAULT = ("eager", "compiled", "numpy", "jax", "torch")
"""The backends of a run that names none, and the first ones of the table."""

OURS = ("eager", "compiled")
"""Backends of taenite itself; all others are peers."""

FILES = "TAENITE_BENCH_ADAPTERS"
GROUP = "taenite.bench.adapters"
SUFFIX = "_backend"


class BadAdapter(ValueError):
    """A file that does not say what it needs, or two backends of one name."""


@dataclass(frozen=True)
class Source:
    """Where a backend comes from, known without importing it."""

    name: str
    requires: str
    """The package that it needs."""
    where: str
    load: Callable[[], Any]

    @property
    def available(self) -> bool:
        return find_spec(self.requires) is not None


def sources() -> dict[str, Source]:
    """Every backend: those of `DEFAULT`, then the others by name, then foreign ones."""
    found: dict[str, Source] = {}
    for source in (*_own(), *_files(), *_installed()):
        if source.name in found:
            other = found[source.name].where
            raise BadAdapter(f"bench: two backends are called {source.name!r}: {other} and {source.where}.")
        found[source.name] = source
    return found


def available(name: str) -> bool:
    """Whether the backend's package is installed, without importing it."""
    return sources()[name].available


def load(name: str, threads: int) -> Adapter:
    """Import the backend's package and its adapter. Called in the worker process only."""
    backend: Adapter = sources()[name].load().Backend(threads)
    return backend


def _own() -> Iterator[Source]:
    names = {path.stem.removesuffix(SUFFIX): path for path in Path(__file__).parent.glob(f"*{SUFFIX}.py")}
    for name in (*DEFAULT, *sorted(set(names) - set(DEFAULT))):
        module = f"{__package__}.{name}{SUFFIX}"
        yield Source(name, required(names[name]), module, partial(import_module, module))


def _files() -> Iterator[Source]:
    for path in map(Path, filter(None, os.environ.get(FILES, "").split(os.pathsep))):
        if not path.is_file():
            raise BadAdapter(f"bench: {FILES} names {path}, which is not a file.")
        name = path.stem.removesuffix(SUFFIX)
        yield Source(name, required(path), str(path), partial(_from_file, path))


def _installed() -> Iterator[Source]:
    for point in entry_points(group=GROUP):
        yield Source(point.name, point.module.partition(".")[0], f"entry point {point.value}", point.load)


def required(path: Path) -> str:
    """The package that the file's ``REQUIRES = "package"`` names, read without running the file."""
    try:
        parsed = ast.parse(path.read_bytes(), str(path))
    except (OSError, SyntaxError, ValueError) as error:
        raise BadAdapter(f"bench: {path} is no adapter: it cannot be read as Python: {error}.") from error
    for statement in parsed.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="REQUIRES")], value=ast.Constant(value=str(package))):
                return package
    raise BadAdapter(f'bench: {path} is no adapter: it needs a line REQUIRES = "package".')


def _from_file(path: Path) -> Any:
    spec = spec_from_file_location(f"taenite_bench_adapter_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
