"""Counting what native code does: provider calls, copies, fills, materialisations and allocations.

::

    with tn.observe() as calls:
        tn.linalg.solve(a, b)
    calls.counts["getrf"], calls.seconds["getrf"], calls.copies.bytes
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple, Self

from taenite import _core

_ROUTINES = tuple(_core.provider_routines())
_DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}


@dataclass(frozen=True)
class Volume:
    """How often something happened, and how many bytes that was."""

    count: int
    bytes: int


class Call(NamedTuple):
    """The dimensions of one provider call, in the order of the routine's arguments."""

    routine: str
    dtype: str
    dims: tuple[int, ...]


class Instruction(NamedTuple):
    """What the instructions of one primitive that come from one line took, over all calls."""

    primitive: str
    line: str
    """As ``file:line``."""
    runs: int
    seconds: float


class Seconds(dict[str, float]):
    """Seconds by routine; zero for one that was not called."""

    def __missing__(self, routine: str) -> float:
        return 0.0


class _Snapshot(NamedTuple):
    copies: tuple[int, int]
    fills: tuple[int, int]
    materialisations: tuple[int, int]
    allocations: tuple[int, int]
    workspace_queries: tuple[int, int]
    calls: tuple[tuple[int, int], ...]
    workspaces: tuple[tuple[int, int], ...]
    instructions: dict[tuple[str, str], tuple[int, int]]


def _now() -> _Snapshot:
    rows = _core.observe_instructions()
    return _Snapshot(*_core.observe_snapshot(), {(name, line): (n, ns) for name, line, n, ns in rows})


class observe:
    """A context manager that counts while it is open; its numbers may be read during and after.

    Observers nest, and overlap in several threads: all of them count what the whole process does.
    Routines go by base name: ``"gemm"`` for every element type, the complex ``heevd`` and ``ungqr`` by their
    real names ``"syevd"`` and ``"orgqr"``. Workspace queries are not calls. ``shapes=True`` also keeps
    the dimensions of every call.
    """

    def __init__(self, *, shapes: bool = False) -> None:
        self._with_shapes = shapes
        self._start: _Snapshot | None = None
        self._end: _Snapshot | None = None
        self._first_shape = 0
        self._shapes: list[Call] = []

    def __enter__(self) -> Self:
        if self._start is not None:
            raise RuntimeError("observe: an observer is used once; make a new one.")
        _core.observe_open(self._with_shapes)
        self._first_shape = _core.observe_shape_count()
        self._start = _now()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end = _now()
        self._shapes = self._logged()
        _core.observe_close(self._with_shapes)

    def _span(self) -> tuple[_Snapshot, _Snapshot]:
        if self._start is None:
            raise RuntimeError("observe: nothing was observed yet; use it in a with statement.")
        return self._start, self._end or _now()

    def _logged(self) -> list[Call]:
        rows = _core.observe_shapes_since(self._first_shape)
        return [Call(routine, _DTYPES[letter], dims) for routine, letter, dims in rows]

    def _by_routine(self, kind: str) -> dict[str, tuple[int, int]]:
        start, end = self._span()
        return {
            routine: (after[0] - before[0], after[1] - before[1])
            for routine, before, after in zip(
                _ROUTINES, getattr(start, kind), getattr(end, kind), strict=True
            )
            if after[0] != before[0]
        }

    def _calls(self) -> dict[str, tuple[int, int]]:
        return self._by_routine("calls")

    def _volume(self, kind: str) -> Volume:
        start, end = self._span()
        before, after = getattr(start, kind), getattr(end, kind)
        return Volume(after[0] - before[0], after[1] - before[1])

    @property
    def counts(self) -> Counter[str]:
        """Provider calls by routine; zero for one that was not called."""
        return Counter({routine: count for routine, (count, _) in self._calls().items()})

    @property
    def seconds(self) -> Seconds:
        """Wall time inside the provider by routine, summed over threads."""
        return Seconds({routine: ns * 1e-9 for routine, (_, ns) in self._calls().items()})

    @property
    def instructions(self) -> list[Instruction]:
        """Wall time of the instructions of compiled functions, by primitive and line, longest first. A group
        that ran tile by tile is one of them, with the line of its first.

        >>> f = tn.compile(lambda a: tn.exp(a @ a).sum())
        >>> with tn.observe() as calls:
        ...     _ = f(tn.eye(64))
        >>> sorted(i.primitive for i in calls.instructions)
        ['dot_general', 'group']
        """
        start, end = self._span()
        found = []
        for key, (count, ns) in end.instructions.items():
            count_before, ns_before = start.instructions.get(key, (0, 0))
            if count > count_before:
                found.append(Instruction(*key, count - count_before, (ns - ns_before) * 1e-9))
        return sorted(found, key=lambda i: -i.seconds)

    @property
    def shapes(self) -> list[Call]:
        """Every provider call with its dimensions, in order; needs ``observe(shapes=True)``."""
        if not self._with_shapes:
            raise ValueError("observe: dimensions were not kept; ask for them with tn.observe(shapes=True).")
        self._span()
        return self._shapes if self._end else self._logged()

    @property
    def copies(self) -> Volume:
        """Operands copied from one place to another."""
        return self._volume("copies")

    @property
    def fills(self) -> Volume:
        """Memory filled with one value."""
        return self._volume("fills")

    @property
    def materialisations(self) -> Volume:
        """Views written out because no kernel took their strides."""
        return self._volume("materialisations")

    @property
    def allocations(self) -> Volume:
        """Blocks taken from the pool."""
        return self._volume("allocations")

    @property
    def workspaces(self) -> dict[str, Volume]:
        """Memory that LAPACK was given to work in, by routine: calls, and the bytes of all of them.

        >>> with tn.observe() as calls:
        ...     _ = tn.linalg.qr(tn.eye(64))
        >>> sorted(calls.workspaces)
        ['geqrf', 'orgqr']
        """
        return {routine: Volume(*volume) for routine, volume in self._by_routine("workspaces").items()}

    @property
    def workspace_queries(self) -> int:
        """Questions to LAPACK for the size of a workspace: one for each routine, type and shape."""
        return self._volume("workspace_queries").count

    def __repr__(self) -> str:
        if self._start is None:
            return "observe(not started)"
        calls = sorted(self._calls().items(), key=lambda row: -row[1][1])
        lines = [f"  {routine:<17}{count:>8}{ns * 1e-6:>14.3f} ms" for routine, (count, ns) in calls]
        for kind in ("copies", "fills", "materialisations", "allocations"):
            volume = self._volume(kind)
            lines.append(f"  {kind:<17}{volume.count:>8}{volume.bytes:>14,} bytes")
        return "\n".join(["observed", *lines])
