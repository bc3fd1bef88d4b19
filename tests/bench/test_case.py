import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from taenite.bench import case as registry
from taenite.bench.adapters.base import as_tuple
from taenite.bench.case import Disagreement, Size, all_cases, all_rows, rows, select, squares, suites
from taenite.bench.cases import losses, permutation
from taenite.bench.work import Work

COPIES = {name + suffix for name, *_ in permutation.PATTERNS for suffix in ("", "_into")} | {"control_copy"}
PLAIN = ("matmul", "svd", "qr", "eigh", "solve")
SURVEY = Path(__file__).with_name("large_ad_rows.csv")


def test_large_ad_has_the_rows_of_the_published_survey():
    with SURVEY.open() as file:
        wanted = {(r["op"], r["phase"], r["shape"]) for r in csv.DictReader(file)}
    found = {(row.op, row.phase, row.size.label) for row in rows("large_ad")}
    assert wanted <= found
    extra = {op for op, _, _ in found - wanted}
    assert extra == {"grad_dense_matmul_backward", "gaussian_process_backward", "ising_trg_backward"}


def test_row_keys_are_unique():
    keys = [row.key for row in all_rows()]
    assert len(keys) == len(set(keys))
    assert set(keys) == {row.key for suite in suites() for row in rows(suite)}
    assert all(len(rows(suite)) == len(set(rows(suite))) for suite in suites())


def test_what_identifies_a_row_is_in_its_key():
    row = next(row for row in rows("micro") if row.op == "add")
    assert row.key == "add|primal|4|float64|expression|fresh"
    assert {row.scope for row in all_rows()} <= set(registry.SCOPES)
    assert {row.output for row in all_rows()} <= set(registry.OUTPUTS)
    assert [registry.destruction(batch) for batch in (1, 2, 1000)] == ["outside", "inside", "inside"]
    assert set(map(registry.destruction, (1, 2))) == set(registry.DESTRUCTIONS)


def test_every_row_states_its_work():
    for row in all_rows():
        work = row.work
        assert work.bytes > 0 and 0 <= work.least_flops <= work.flops, row.key
        assert work.flops > 0 or row.case.name in COPIES, row.key


def test_work_counts_the_bytes_of_operands_and_outputs():
    for row in (row for row in rows("large_ad") if row.size.label == "64x64" and row.phase == "primal"):
        fixture = row.fixture()
        outputs = as_tuple(row.case.formula(np, *fixture.operands)) if row.case.name in PLAIN else (0.0,)
        assert row.work.bytes == sum(np.asarray(x).nbytes for x in (*fixture.operands, *outputs)), row.op


def test_work_in_other_dtypes():
    assert Work(80, 10.0, 5.0).in_dtype("float32") == Work(40, 10.0, 5.0)
    assert Work(80, 10.0, 5.0).in_dtype("complex128") == Work(160, 40.0, 20.0)
    assert Work(80, 10.0, 5.0).in_dtype("complex64") == Work(80, 40.0, 20.0)


def test_a_selection_adds_rows_of_its_own_dtypes_and_suites():
    base = next(case for case in all_cases() if case.name == "matmul")
    extra = select("tiny", dtypes=("float32", "complex128"), primal=squares(5, 7))
    both = dataclasses.replace(base, selections=(*base.selections, extra, extra))
    assert [str(row) for row in both.rows_in("tiny")] == [
        "matmul 5x5 float32",
        "matmul 7x7 float32",
        "matmul 5x5 complex128",
        "matmul 7x7 complex128",
    ]
    assert both.rows_in("tiny")[0].suites == ("tiny",)
    assert len(both.rows()) == len(base.rows()) + 4


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_oracles_judge_each_dtype_by_its_own_round_off(dtype):
    base = next(case for case in all_cases() if case.name == "matmul")
    row = registry.Row(base, "primal", Size("8x8", (8,)), dtype)
    fixture = row.fixture()
    assert all(x.dtype == dtype for x in fixture.operands)
    a, b = fixture.operands
    check = row.check(fixture)
    check("primal", [a @ b])
    with pytest.raises(Disagreement, match="A B"):
        check("primal", [(a @ b) * (1 + 1e3 * np.finfo(dtype).eps)])
    with pytest.raises(Disagreement, match="dtype"):
        check(
            "primal",
            [(a @ b).astype(np.result_type(dtype, np.float64) if dtype != "complex128" else "complex64")],
        )


def test_every_case_is_documented_and_belongs_to_a_suite():
    assert all(case.description and case.suites for case in all_cases())
    assert set(suites()) >= {"backward_only", "control", "large_ad", "permutation", "real", "second_order"}


def test_every_suite_is_in_the_guide():
    guide = (Path(__file__).parents[2] / "docs" / "bench.md").read_text()
    missing = [suite for suite in suites() if f"| `{suite}` |" not in guide and suite != "instances"]
    assert not missing
    assert all(f"| `{phase}` |" in guide for phase in registry.PHASES)


def test_hvp_rows_are_in_their_own_suite_only():
    found = rows("second_order")
    assert {row.phase for row in found} == {"hvp"} and {row.size.args[0] for row in found} == {64, 256}
    assert {row.case.name for row in found} >= {"grad_sum_svd_s", "grad_sum_solve", "grad_dense_matmul"}
    assert all(row.phase != "hvp" for suite in suites() if suite != "second_order" for row in rows(suite))


def test_unknown_suite_is_refused():
    with pytest.raises(KeyError, match="large_ad"):
        rows("nothing")


def test_bad_cases_are_refused():
    good = all_cases()[0]
    with pytest.raises(ValueError, match="registered already"):
        registry.add(good)
    with pytest.raises(ValueError, match="unknown phases"):
        registry.case(
            "new",
            suites=("x",),
            phases={"sideways": (Size("1", (1,)),)},
            fixture=good.fixture,
            oracle=good.oracle,
            work=good.work,
        )(losses.grad_sum_qr)
    with pytest.raises(ValueError, match="must come first"):
        registry.case(
            "new",
            suites=("x",),
            phases={"hvp": (Size("1", (1,)),)},
            fixture=good.fixture,
            oracle=good.oracle,
            work=good.work,
            wrt=(1,),
        )(losses.grad_sum_qr)
    with pytest.raises(ValueError, match="docstring"):
        registry.case(
            "new", suites=("x",), phases={}, fixture=good.fixture, oracle=good.oracle, work=good.work
        )(lambda xp: 0)
