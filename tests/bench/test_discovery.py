"""Backends are found by their files, and nothing is imported to find them."""

import os

import numpy as np
import pytest
import typer

from taenite.bench import adapters, commands
from taenite.bench.adapters import BadAdapter
from taenite.bench.adapters.base import Unsupported
from taenite.bench.case import rows

FOREIGN = """
import numpy as np

from taenite.bench.adapters.base import Unsupported, as_tuple, call_statement

REQUIRES = "numpy"


class Backend:
    name = "abacus"
    compiles = False

    def __init__(self, threads):
        self.threads = threads

    def prepare(self, row, fixture):
        if row.phase != "primal":
            raise Unsupported("an abacus does not differentiate")
        return call_statement(lambda: row.case.formula(np, *fixture.operands), as_tuple)

    def trim(self):
        pass

    def describe(self):
        return {"beads": 10}
"""


def test_backends_come_in_the_order_of_the_table_without_being_imported():
    found = adapters.sources()
    assert tuple(found)[: len(adapters.DEFAULT)] == adapters.DEFAULT
    assert set(found) == {*adapters.DEFAULT, "scipy", "jax_eager", "torch_compile"}
    assert found["torch_compile"].requires == "torch" and found["compiled"].requires == "taenite"


def test_a_foreign_file_is_a_backend(tmp_path, monkeypatch):
    path = tmp_path / "abacus_backend.py"
    path.write_text(FOREIGN)
    monkeypatch.setenv(adapters.FILES, str(path))
    assert tuple(adapters.sources())[-1] == "abacus" and adapters.available("abacus")
    backend = adapters.load("abacus", 3)
    assert backend.threads == 3 and backend.describe() == {"beads": 10}
    row = next(row for row in rows("large_ad") if row.op == "matmul")
    fixture = row.fixture()
    prepared = backend.prepare(row, fixture)
    row.check(fixture)("primal", prepared.to_numpy(prepared.names["call"]()))


def test_a_backend_whose_package_is_missing_is_known_but_not_available(tmp_path, monkeypatch):
    path = tmp_path / "moon_backend.py"
    path.write_text('REQUIRES = "no_such_package_anywhere"\nimport no_such_package_anywhere\n')
    monkeypatch.setenv(adapters.FILES, str(path))
    assert "moon" in adapters.sources() and not adapters.available("moon")


def test_bad_foreign_files_are_refused(tmp_path, monkeypatch):
    silent, again = tmp_path / "silent_backend.py", tmp_path / "numpy_backend.py"
    silent.write_text("x = 1\n")
    again.write_text(FOREIGN)
    for paths, message in (
        ([silent], "needs a line REQUIRES"),
        ([again], "two backends are called 'numpy'"),
        ([tmp_path / "absent.py"], "which is not a file"),
    ):
        monkeypatch.setenv(adapters.FILES, os.pathsep.join(map(str, paths)))
        with pytest.raises(BadAdapter, match=message):
            adapters.sources()


def test_scipy_leaves_rows_without_a_decomposition_to_numpy():
    pytest.importorskip("scipy", reason="scipy is an optional peer")
    scipy = adapters.load("scipy", 1)
    by_op = {row.op: row for row in rows("large_ad") if row.size.label.startswith("64x64")}
    assert scipy.decomposes(by_op["svd"], by_op["svd"].fixture())
    square = next(row for row in rows("large_ad") if row.op == "matmul")
    assert not scipy.decomposes(square, square.fixture())
    solved = scipy.prepare(by_op["solve"], by_op["solve"].fixture()).names["call"]()
    assert isinstance(solved, np.ndarray)


@pytest.mark.parametrize("name", ["eager", "numpy"])
def test_a_reused_destination_is_one_tensor_for_every_call(name):
    row = next(row for row in rows("permutation") if row.op == "reverse_3_into")
    assert row.output == "reused" and row.key.endswith("|reused")
    fixture = row.fixture()
    prepared = adapters.load(name, 1).prepare(row, fixture)
    first = prepared.names["call"]()
    assert prepared.names["call"]() is first
    row.check(fixture)("primal", prepared.to_numpy(first))


@pytest.mark.parametrize("name", ["compiled", "jax", "jax_eager"])
def test_who_cannot_write_into_a_destination_says_so(name):
    package = adapters.sources()[name].requires
    pytest.importorskip(package, reason=f"{package} is an optional peer")
    row = next(row for row in rows("permutation") if row.output == "reused")
    with pytest.raises(Unsupported, match=r"memory of its own|cannot be written"):
        adapters.load(name, 1).prepare(row, row.fixture())


def test_a_foreign_file_is_measured_by_its_name(tmp_path, monkeypatch):
    path = tmp_path / "abacus_backend.py"
    path.write_text(FOREIGN)
    monkeypatch.setenv(adapters.FILES, "")
    commands.include([path], None)
    assert commands.chosen_backends("abacus,numpy") == (["abacus", "numpy"], [])
    with pytest.raises(typer.BadParameter, match="two backends"):
        commands.include([path], None)
