"""Every example of the documentation runs: in docstrings, in the README and in docs/. Every public name has a
docstring, and every public function an example.
"""

import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import taenite as tn
from taenite import _core

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PARSER = doctest.DocTestParser()
FLOAT = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")

MODULES = [
    importlib.import_module(found.name)
    for found in pkgutil.walk_packages(tn.__path__, "taenite.")
    if not found.name.startswith(("taenite._core", "taenite.bench.adapters", "taenite.cli"))
]
NAMESPACES = [tn, importlib.import_module("taenite.linalg"), tn.providers, tn.pool, tn.tree]


def members(owner):
    """What a module or a class defines itself, with its dotted name."""
    home = owner.__name__ if inspect.ismodule(owner) else owner.__module__
    for name, value in vars(owner).items():
        value = inspect.unwrap(value.fget) if isinstance(value, property) else value
        if getattr(value, "__module__", None) == home and isinstance(getattr(value, "__doc__", None), str):
            yield f"{owner.__name__}.{name}", value
            if isinstance(value, type):
                yield from members(value)


@pytest.fixture(autouse=True)
def choices_end_with_the_example():
    """Examples choose providers for the process."""
    before = _core.selection_current()
    yield
    _core.selection_set(before)


def docstring_examples():
    for module in MODULES:
        if module.__doc__ and ">>>" in module.__doc__:
            yield pytest.param(module.__doc__, id=module.__name__)
        for name, value in members(module):
            if ">>>" in value.__doc__:
                yield pytest.param(value.__doc__, id=name)


class Rounding(doctest.OutputChecker):
    """Takes numbers as equal that differ by what another CPU or provider may round otherwise."""

    def check_output(self, want, got, optionflags):
        numbers = [[float(x) for x in FLOAT.findall(text)] for text in (want, got)]
        if len(numbers[0]) != len(numbers[1]) or not np.allclose(*numbers, rtol=1e-12, atol=1e-12):
            return super().check_output(want, got, optionflags)
        return super().check_output(FLOAT.sub("#", want), FLOAT.sub("#", got), optionflags)


def run_examples(text, namespace):
    test = PARSER.get_doctest(text, namespace, "example", None, 0)
    said = []
    doctest.DocTestRunner(Rounding(), optionflags=OPTIONS, verbose=False).run(
        test, out=said.append, clear_globs=False
    )
    assert not said, "".join(said)


@pytest.mark.parametrize("text", [*docstring_examples()])
def test_docstring(text):
    run_examples(inspect.cleandoc(text), {"tn": tn, "np": np})


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: p.name
)
def test_python_of_a_page(path, capsys, monkeypatch, tmp_path):
    """The blocks of a page are one program."""
    monkeypatch.chdir(tmp_path)
    namespace = {"tn": tn, "np": np, "__name__": "page"}
    for block in re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
        if ">>>" in block:
            run_examples(block, namespace)
        else:
            exec(compile(block, str(path), "exec"), namespace)


def public_names():
    for namespace in NAMESPACES:
        for name in getattr(namespace, "__all__", None) or vars(namespace):
            value = getattr(namespace, name)
            exported = namespace is tn or getattr(value, "__module__", "") == namespace.__name__
            if exported and not name.startswith("_") and callable(value):
                yield pytest.param(name, value, id=f"{namespace.__name__}.{name}")


@pytest.mark.parametrize("name, value", [*public_names()])
def test_public_name_is_documented(name, value):
    text = inspect.getdoc(value)
    assert text, f"{name} has no docstring"
    if isinstance(value, type):
        return  # named tuples, contexts, exceptions: their fields and uses are shown where they come from
    assert ">>>" in text or re.search(r"as for `\w+`", text), f"the docstring of {name} shows no example"


@pytest.mark.parametrize(
    "path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))], ids=lambda p: p.name
)
def test_links_of_a_page_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text())
    missing = [link for link in links if not (path.parent / link).exists()]
    assert not missing


def test_the_tour_runs(capsys):
    runpy.run_path(str(ROOT / "docs" / "tour.py"), run_name="__main__")
    assert capsys.readouterr().out.endswith("the tour is over\n")
