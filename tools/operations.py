"""Write docs/operations.md, the table of all primitives and their derivatives, or with --check compare it."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import taenite.ops
from taenite.primitive import REGISTRY, AnyRecord, NotDifferentiable

PAGE = Path(__file__).resolve().parents[1] / "docs/operations.md"

HEADER = """# Operations

Every public function is made of these primitives. `make generated` writes this page from their records, and
`make lint` fails when it is out of date.

A derivative is declared in one of three ways: the *slope* dy/dx of an elementwise operation, the *adjoint* of
one that is linear in each operand, or a *vjp*. From it come both modes, at any order ([how](autodiff.md)).
Where there is none, the reason stands instead. Caches are outputs that only rules see: factors, pivots.
"""

COLUMNS = """| primitive | operands | outputs | attributes | derivative |
|---|---|---|---|---|
"""


def modules() -> Iterator[ModuleType]:
    for found in pkgutil.iter_modules(taenite.ops.__path__, "taenite.ops."):
        yield importlib.import_module(found.name)


def records_of(module: ModuleType) -> list[AnyRecord[Any]]:
    """The records that a module defines, bound to a name or worn by a public function."""
    values = vars(module).values()
    found = {value.name: value for value in values if isinstance(value, AnyRecord)}
    own = [value for value in values if getattr(value, "__module__", "") == module.__name__]
    worn = [getattr(value, "record", None) for value in own]
    return [*found.values(), *(record for record in worn if isinstance(record, AnyRecord))]


def title_of(module: ModuleType) -> str:
    """What its docstring says before the first colon or full stop."""
    paragraph = " ".join((module.__doc__ or module.__name__).split("\n\n")[0].split())
    return paragraph.partition(":")[0].partition(". ")[0].rstrip(".")


def by_module() -> dict[str, list[AnyRecord[Any]]]:
    """Each record once, under the module that the rule or the samples come from where several name it."""
    homes: dict[str, str] = {}
    titles: dict[str, str] = {}
    for module in modules():
        titles[module.__name__] = title_of(module)
        for record in records_of(module):
            if homes.setdefault(record.name, module.__name__) != module.__name__ and defines(module, record):
                homes[record.name] = module.__name__
    grouped: dict[str, list[AnyRecord[Any]]] = {}
    for name in sorted(homes):
        grouped.setdefault(titles[homes[name]], []).append(REGISTRY[name])
    return grouped


def defines(module: ModuleType, record: AnyRecord[Any]) -> bool:
    rules = (record.derivative, record.adjoint, record.vjp, record.samples)
    return any(getattr(rule, "__module__", "") == module.__name__ for rule in rules)


def derivative(record: AnyRecord[Any]) -> str:
    if isinstance(record.derivative, NotDifferentiable):
        return f"none: {record.derivative.why}"
    if record.derivative is not None:
        return "slope"
    return "adjoint" if record.adjoint is not None else "vjp"


def row(record: AnyRecord[Any]) -> str:
    primitive = record.primitive
    caches = primitive.hidden.bit_count()
    outputs = f"{primitive.n_out - caches}" + (f" + {caches} cached" if caches else "")
    inputs = "any" if primitive.n_in < 0 else str(primitive.n_in)
    attrs = ", ".join(record.attrs)
    return f"| `{record.name}` | {inputs} | {outputs} | {attrs} | {derivative(record)} |"


def page() -> str:
    parts = [HEADER]
    for title, records in by_module().items():
        parts.append(f"\n## {title}\n\n{COLUMNS}")
        parts.append("\n".join(map(row, records)) + "\n")
    return "".join(parts)


def main(argument: str = "") -> int:
    fresh = page()
    if argument != "--check":
        PAGE.write_text(fresh)
        return 0
    if PAGE.read_text() == fresh:
        print("the table of operations agrees with the records")
        return 0
    print("docs/operations.md is out of date: run make generated")
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
