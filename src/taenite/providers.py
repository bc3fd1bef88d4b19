"""BLAS and LAPACK providers: which libraries there are, which one serves which routine, and their threads.

No BLAS is linked. A provider is a shared library loaded when the first call needs it::

    tn.providers.use("mkl")                                # from here on
    with tn.providers.use("mkl", routines=["gesdd"]): ...  # one routine, in this block
    tn.providers.info()                                    # what is loaded, as plain data

Names: ``openblas`` (the scipy-openblas32 wheel, the default), ``mkl`` (the mkl wheel), ``system``
(OpenBLAS, BLIS or the reference libraries of the operating system), or a path.

Matrix products (``gemm``) are computed by taenite itself where its kernels have the vectors of this
processor, unless a provider is chosen for them: ``tn.providers.use(gemm="openblas")``. With
``use(gemm="native")`` they stay native whatever the other routines use.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, TypedDict, cast

from taenite import _core
from taenite.threads import get_num_threads, set_num_threads, threads

__all__ = [
    "ROUTINES",
    "CheckResult",
    "FileInfo",
    "ProviderInfo",
    "available",
    "check",
    "ensure",
    "get_num_threads",
    "info",
    "selected",
    "set_num_threads",
    "threads",
    "use",
]

ROUTINES: tuple[str, ...] = tuple(_core.provider_routines())
"""The routines that a provider serves, by base name: ``"gemm"`` stands for sgemm, dgemm, cgemm and zgemm."""

Target = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class FileInfo(TypedDict):
    """One loaded file."""

    path: str
    sha256: str


class ProviderInfo(TypedDict):
    """What is known of a loaded provider, read from the loaded library itself."""

    name: str
    kind: str
    version: str
    lapack_version: str
    kernel: str
    integer_bits: int
    threading: str
    threads: int
    prefix: str
    suffix: str
    files: list[FileInfo]
    missing: list[str]
    serves: list[str]


class CheckResult(TypedDict):
    """One routine checked with one element type; the residual is in units of the unit round-off."""

    routine: str
    dtype: str
    residual: float
    ok: bool


class _Source(NamedTuple):
    """Where a named provider is looked for, without loading anything."""

    find: Callable[[], list[list[str]]]  # candidates, best first: files to load together
    install: str


def _library_folders() -> list[Path]:
    """Folders in which a dynamic linker looks, and those of this Python."""
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    listed = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    roots = [Path(root) for root in ("/usr/local/lib", "/usr/lib", "/lib", "/usr/lib64", "/lib64")]
    return [
        *(Path(folder) for folder in listed if folder),
        Path(sys.prefix, "lib"),
        *(root / multiarch for root in roots if multiarch),
        *roots,
    ]


def _first_match(folders: Iterable[Path], pattern: str) -> str | None:
    return next((str(found) for folder in folders for found in sorted(folder.glob(pattern))), None)


def _openblas_wheel() -> list[list[str]]:
    # find_spec does not import the package: importing it loads the library for the whole process.
    spec = importlib.util.find_spec("scipy_openblas32")
    folders = [Path(folder, "lib") for folder in (spec and spec.submodule_search_locations) or ()]
    found = _first_match(folders, "libscipy_openblas*.so") or _first_match(
        folders, "libscipy_openblas*.dylib"
    )
    return [[found]] if found else []


def _mkl_wheel() -> list[list[str]]:
    folders = [Path(sysconfig.get_path("data"), "lib"), Path(site.getuserbase(), "lib"), *_library_folders()]
    found = _first_match(folders, "libmkl_rt.so*")
    return [[found]] if found else []


def _system_libraries() -> list[list[str]]:
    folders = _library_folders()
    sets = (("libopenblas.so.0",), ("libblis.so.4", "liblapack.so.3"), ("libblas.so.3", "liblapack.so.3"))
    found = [[_first_match(folders, name) for name in names] for names in sets]
    return [[path for path in paths if path] for paths in found if all(paths)]


_SOURCES = {
    "openblas": _Source(_openblas_wheel, "pip install scipy-openblas32"),
    "mkl": _Source(_mkl_wheel, "pip install mkl"),
    "system": _Source(_system_libraries, "your package manager, for example: apt install libopenblas0"),
}


def available() -> dict[str, list[str]]:
    """The named providers that are installed, with the files each would load. Loads nothing.

    >>> "openblas" in tn.providers.available()
    True
    """
    found = {name: source.find() for name, source in _SOURCES.items()}
    return {name: candidates[0] for name, candidates in found.items() if candidates}


def _catalogue() -> str:
    installed = available()
    lines = (
        f"  {name}: "
        + (", ".join(installed[name]) if name in installed else f"not installed ({source.install})")
        for name, source in _SOURCES.items()
    )
    return "\n".join([*lines, "  or the path of a BLAS and LAPACK library"])


def _is_path(target: str) -> bool:
    return os.sep in target or ".so" in target or target.endswith((".dylib", ".dll"))


def _located(name: str) -> list[str]:
    """The files of a named provider, best candidate."""
    if name not in _SOURCES:
        raise ValueError(f"providers.use: unknown provider {name!r}. Known are:\n{_catalogue()}")
    candidates = _SOURCES[name].find()
    if not candidates:
        raise ValueError(f"providers.use: {name!r} is not installed. Known are:\n{_catalogue()}")
    return candidates[0]


def _opened(target: Target) -> _core.Provider:
    if isinstance(target, str) and not _is_path(target):
        return _core.provider_open(target, _located(target))
    if isinstance(target, (str, os.PathLike)):
        target = [target]
    paths = [os.fspath(path) for path in target]
    if not paths:
        raise ValueError("providers.use: no path given.")
    return _core.provider_open(Path(paths[0]).name, paths)


def _indices(routines: Iterable[str] | None) -> list[int]:
    if routines is None:
        return list(range(len(ROUTINES)))
    if isinstance(routines, str):
        raise TypeError(f"providers.use: routines must be a list of names, got the string {routines!r}.")
    names = list(routines)
    unknown = [name for name in names if name not in ROUTINES]
    if unknown:
        raise ValueError(
            f"providers.use: unknown routines {unknown}; they are base names: {', '.join(ROUTINES)}."
        )
    return [ROUTINES.index(name) for name in names]


def _with_routine(base: _core.ProviderSelection, routine: str, target: Target) -> _core.ProviderSelection:
    (index,) = _indices([routine])
    if target != "native":
        return _core.selection_with(base, _opened(target), [index])
    if routine != "gemm":
        raise ValueError(f"providers.use: only gemm has a native kernel, got {routine}='native'.")
    return _core.selection_with_native_products(base)


class use:
    """Chooses the provider of all routines, of those in ``routines``, or of routines by name.

    ``use("mkl")``, ``use("mkl", routines=["gesdd"])`` and ``use(gemm="native", gesdd="mkl")``. The call
    itself takes effect at once: for the process, or inside a ``with tn.providers.use(...)`` block for the
    rest of that block in this thread. In a ``with`` statement the choice holds for the block and this
    thread only.

    >>> with tn.providers.use(gemm="native"):
    ...     tn.providers.selected()["gemm"]
    'native'
    """

    def __init__(
        self,
        provider: Target | None = None,
        *,
        routines: Iterable[str] | None = None,
        **by_routine: Target,
    ) -> None:
        if provider is None and not by_routine:
            raise TypeError("providers.use: name a provider, or one for a routine: use(gemm='openblas').")
        self._before = chosen = _core.selection_current()
        if provider is not None:
            indices = _indices(routines)
            chosen = _core.selection_with(chosen, _opened(provider), indices)
        elif routines is not None:
            raise TypeError("providers.use: routines needs a provider that serves them.")
        for routine, target in by_routine.items():
            chosen = _with_routine(chosen, routine, target)
        self._chosen = chosen
        self._outer: list[_core.ProviderSelection | None] = []
        _core.selection_set(self._chosen)

    def __enter__(self) -> None:
        if not self._outer:
            _core.selection_set(self._before)
        self._outer.append(_core.selection_begin_block(self._chosen))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _core.selection_end_block(self._outer.pop())


def ensure() -> None:
    """Loads the default provider now rather than at the first call that needs it.

    >>> tn.providers.ensure()
    """
    _core.provider_default()


def selected() -> dict[str, str]:
    """The name of the provider that serves each routine in this thread; ``native`` where taenite does.

    >>> with tn.providers.use("openblas"):
    ...     tn.providers.selected()["gesdd"]
    'openblas'
    """
    current = _core.selection_current()
    chosen = current.providers()
    default = _core.provider_default() if None in chosen else None
    served = {
        routine: provider.name
        for routine, choice in zip(ROUTINES, chosen, strict=True)
        if (provider := choice or default)
    }
    if chosen[ROUTINES.index("gemm")] is None:
        served["gemm"] = "native"
    return served


_hashes: dict[tuple[str, int, int], str] = {}


def _sha256(path: str) -> str:
    status = os.stat(path)
    key = (path, status.st_mtime_ns, status.st_size)
    if key not in _hashes:
        with open(path, "rb") as file:
            _hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return _hashes[key]


def _described(provider: _core.Provider, served: dict[str, str]) -> ProviderInfo:
    facts = provider.info()
    paths = cast(list[str], facts.pop("paths"))
    files = [FileInfo(path=path, sha256=_sha256(path)) for path in paths]
    serves = [routine for routine, name in served.items() if name == provider.name]
    return cast(ProviderInfo, {**facts, "files": files, "serves": serves})


def info() -> list[ProviderInfo]:
    """All loaded providers, the default among them, as plain data that ``json.dumps`` takes.

    >>> "openblas" in [provider["name"] for provider in tn.providers.info()]
    True
    """
    served = selected()
    return [_described(provider, served) for provider in _core.providers_opened()]


_DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}


def check(provider: Target | None = None, *, n: int = 24) -> list[CheckResult]:
    """Runs multiplication and each decomposition of a provider on an n by n matrix of every type.

    A residual is fine up to ``30 * n`` units: backward error bounds grow with n, with small constants.

    >>> all(result["ok"] for result in tn.providers.check(n=8))
    True
    """
    if provider is not None:
        with use(provider):
            return check(n=n)
    return [
        CheckResult(routine=routine, dtype=_DTYPES[letter], residual=residual, ok=residual <= 30 * n)
        for routine, letter, residual in _core.provider_checks(n)
    ]


def _find_default() -> tuple[str, list[str]]:
    try:
        return "openblas", _located("openblas")
    except ValueError:
        raise ImportError(
            "taenite needs a BLAS and LAPACK library: pip install scipy-openblas32, "
            "or choose another: tn.providers.use(name or path)."
        ) from None


_core.provider_set_finder(_find_default)
