"""Write src/taenite/_core.pyi, or with --check compare it with what it should be.

The stub is what nanobind's stubgen says of the native module, corrected by native/python/stub.pat, with the
methods of Tensor that are written in Python (taenite._methods) in its class.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import importlib
import importlib.util
import inspect
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src/taenite/_core.pyi"
PATTERNS = ROOT / "native/python/stub.pat"


def native_stub() -> str:
    """What the module is without the package around it, which adds methods to its classes."""
    from nanobind.stubgen import StubGen, load_pattern_file

    found = importlib.util.find_spec("taenite")
    assert found is not None
    package = types.ModuleType("taenite")
    package.__path__ = list(found.submodule_search_locations or [])
    sys.modules["taenite"] = package
    module = importlib.import_module("taenite._core")
    generator = StubGen(module, include_docstrings=False, patterns=load_pattern_file(str(PATTERNS)))
    generator.put(module)
    return generator.get()


class Verbatim:
    """Printed in a signature as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def annotation_text(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def imports_of(text: str, scope: dict[str, Any]) -> Iterator[str]:
    """The import lines that an annotation needs outside the module where it was written."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if not isinstance(node, ast.Name) or hasattr(builtins, node.id) or node.id == "Tensor":
            continue
        value = scope.get(node.id)
        if isinstance(value, types.ModuleType):
            yield f"import {value.__name__} as {node.id}"
        elif value is not None:
            defined = isinstance(value, type) or getattr(value, "__module__", "") == "typing"
            yield f"from {value.__module__ if defined else scope['__name__']} import {node.id}"


def method_lines(name: str, function: Callable[..., Any], is_property: bool) -> tuple[list[str], set[str]]:
    """The declaration of one method of Tensor, and the imports it needs."""
    signature = inspect.signature(function)
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    first, *rest = signature.parameters.values()
    kind = first.kind
    if rest and rest[0].kind is inspect.Parameter.POSITIONAL_ONLY:
        kind = inspect.Parameter.POSITIONAL_ONLY
    elif rest:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    texts = [annotation_text(p.annotation) for p in rest] + [annotation_text(signature.return_annotation)]
    parameters = [first.replace(name="self", annotation=inspect.Parameter.empty, kind=kind)]
    for parameter, text in zip(rest, texts, strict=False):
        simple = parameter.default is parameter.empty or isinstance(
            parameter.default, int | float | str | None
        )
        default = parameter.default if simple else Verbatim("...")
        parameters.append(parameter.replace(annotation=Verbatim(text), default=default))
    declared = signature.replace(parameters=parameters, return_annotation=Verbatim(texts[-1]))
    lines = [f"    def {name}{declared}: ..."]
    if is_property:
        lines.insert(0, "    @property")
    return lines, {line for text in texts for line in imports_of(text, scope)}


def with_python_methods(stub: str) -> str:
    """The stub with the methods of Tensor that the package attaches, at the end of its class."""
    from taenite import _methods

    members = [(name, f, False) for name, f in _methods.METHODS.items()]
    members += [(name, f, True) for name, f in _methods.ATTRIBUTES.items()]
    lines: list[str] = []
    imports: set[str] = set()
    for name, function, is_property in members:
        more, needed = method_lines(name, function, is_property)
        lines += more
        imports |= needed
    marker = "    def __buffer__("
    head, tail = stub.split(marker)
    return "\n".join(sorted(imports)) + "\n" + head + "\n".join(lines) + "\n" + marker + tail


def formatted(text: str) -> str:
    for command in (["check", "--select", "I,F401", "--fix", "-q"], ["format", "-q"]):
        text = subprocess.run(
            [Path(sys.executable).parent / "ruff", *command, "--stdin-filename", str(STUB), "-"],
            input=text, capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
    return text


def generate() -> str:
    command = [sys.executable, __file__, "--native"]
    native = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    note = "# Generated by tools/stub.py; `make generated` renews it.\n"
    return formatted(note + with_python_methods(native))


def main(argument: str = "") -> int:
    if argument == "--native":
        print(native_stub())
        return 0
    fresh = generate()
    if argument != "--check":
        STUB.write_text(fresh)
        return 0
    committed = STUB.read_text() if STUB.exists() else ""
    lines = committed.splitlines(), fresh.splitlines()
    diff = list(difflib.unified_diff(*lines, "committed", "generated", lineterm=""))
    print("\n".join(diff) or "the stub agrees with the module")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
