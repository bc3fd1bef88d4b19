import csv
from pathlib import Path

import pytest

from taenite.bench import case as registry
from taenite.bench.case import Size, all_cases, rows, suites
from taenite.bench.cases import losses

SURVEY = Path(__file__).with_name("large_ad_rows.csv")


def test_large_ad_has_the_rows_of_the_published_survey():
    with SURVEY.open() as file:
        wanted = {(r["op"], r["phase"], r["shape"]) for r in csv.DictReader(file)}
    found = {(row.op, row.phase, row.size.label) for row in rows("large_ad")}
    assert wanted <= found
    extra = {op for op, _, _ in found - wanted}
    assert extra == {"grad_dense_matmul_backward", "gaussian_process_backward", "ising_trg_backward"}


def test_row_keys_are_unique():
    keys = [row.key for suite in suites() if suite != "real" for row in rows(suite)]
    assert len(keys) == len(set(keys))


def test_every_case_is_documented_and_belongs_to_a_suite():
    assert all(case.description and case.suites for case in all_cases())
    assert suites() == ("fusion", "large_ad", "micro", "permutation", "real", "second_order")


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
        )(losses.grad_sum_qr)
    with pytest.raises(ValueError, match="must come first"):
        registry.case(
            "new",
            suites=("x",),
            phases={"hvp": (Size("1", (1,)),)},
            fixture=good.fixture,
            oracle=good.oracle,
            wrt=(1,),
        )(losses.grad_sum_qr)
    with pytest.raises(ValueError, match="docstring"):
        registry.case("new", suites=("x",), phases={}, fixture=good.fixture, oracle=good.oracle)(lambda xp: 0)
