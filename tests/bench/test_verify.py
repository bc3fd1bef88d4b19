"""The gate must fail wrong answers: each test plants a fault and watches."""

import numpy as np
import pytest

import taenite.bench.cases  # noqa: F401 (fills the registry)
from taenite.bench.case import COTANGENT, Disagreement, all_cases
from taenite.bench.cases import decompositions, fusion, losses, real
from taenite.bench.fixtures import eigenvalues, one_symmetric, singular_values, square_product, system

LOSSES = {
    "grad_sum_matmul": losses.matmul_reference,
    "grad_dense_matmul": losses.weighted_matmul_reference,
    "grad_sum_svd_s": losses.svd_reference,
    "grad_sum_solve": losses.solve_reference,
    "grad_sum_qr": losses.qr_reference,
    "grad_sum_eigh": losses.eigh_reference,
    "grad_sum_lu": losses.lu_reference,
    "grad_damped_sine": losses.damped_sine_reference,
    "exp_square_sum": fusion.bell_reference,
    "poly_sum": fusion.poly_reference,
}
CURVED = [case.name for case in all_cases() if "hvp" in case.phases]
SIZES = {"grad_sum_solve": (12, 2)}


def case_named(name):
    return next(case for case in all_cases() if case.name == name)


class NumpyWithLu:
    """NumPy, and the L and U that the LU cases need."""

    exp, sin = np.exp, np.sin

    class linalg:
        svdvals, solve, qr, eigvalsh = np.linalg.svdvals, np.linalg.solve, np.linalg.qr, np.linalg.eigvalsh
        lu = staticmethod(losses.row_pivoted)


def right_answer(name):
    case = case_named(name)
    fixture = case.fixture(*SIZES.get(name, (12,)))
    reference = LOSSES[name](*fixture.operands)
    return case, fixture, reference


@pytest.mark.parametrize("name", LOSSES)
def test_reference_gradients_are_the_slope_of_the_formula(name):
    """Central differences of the formula along a tangent; h^2 and u/h balance near 1e-10 at h = 1e-5."""
    case, fixture, reference = right_answer(name)
    given = fixture.tangents or [np.linspace(-1, 1, len(x)) for x in reference.gradients]
    tangents = [*given, *(np.zeros_like(x) for x in fixture.operands[len(given) :])]
    h = 1e-5

    def value(step):
        moved = [x + step * t for x, t in zip(fixture.operands, tangents, strict=True)]
        return float(case.formula(NumpyWithLu, *moved))

    slope = (value(h) - value(-h)) / (2 * h)
    wanted = sum(np.vdot(g, t) for g, t in zip(reference.gradients, given, strict=True))
    scale = sum(np.linalg.norm(g) for g in reference.gradients)
    assert value(0.0) == pytest.approx(reference.value, rel=1e-10)
    assert abs(slope - wanted) <= 1e-6 * scale


@pytest.mark.parametrize("name", LOSSES)
def test_gate_passes_the_right_answer_and_catches_a_planted_one(name):
    case, fixture, reference = right_answer(name)
    check = case.oracle(fixture)
    value = np.asarray(reference.value)
    for phase, factor in (("backward", 1.0), ("vjp", COTANGENT)):
        good = [value, *[factor * g for g in reference.gradients]]
        check(phase, good)
        for index in range(1, len(good)):
            bad = list(good)
            bad[index] = bad[index] * (1 + 1e-6)
            with pytest.raises(Disagreement, match=f"gradient {index - 1}"):
                check(phase, bad)
    with pytest.raises(Disagreement, match="value"):
        check("backward", [value * (1 + 1e-6) + 1e-6, *reference.gradients])
    check("pullback", [COTANGENT * g for g in reference.gradients])
    with pytest.raises(Disagreement, match="gradient"):
        check("pullback", reference.gradients)


@pytest.mark.parametrize("name", CURVED)
def test_reference_products_are_the_slope_of_the_gradients(name):
    """Fourth-order central differences of the closed-form gradient g along a tangent of norm 1.

    By Cauchy's estimate, with M the size of g within rho of the operands, truncation is 4 (h / rho)^4 M / rho
    and rounding 1.5 n kappa u M / h. Here rho = 0.026, the smallest singular value, n kappa = 1200 and
    h = 3e-5: 7e-12 and 2e-10 of M / rho, which is no more than 40 M for kappa = 100.
    """
    _, fixture, reference = right_answer(name)
    moving, h = len(fixture.tangents), 3e-5

    def gradients(step):
        moved = [x + step * t for x, t in zip(fixture.operands, fixture.tangents, strict=False)]
        return LOSSES[name](*moved, *fixture.operands[moving:]).gradients

    stencil = [gradients(step * h) for step in (-2, -1, 1, 2)]
    size = sum(np.linalg.norm(g) for g in reference.gradients)
    for product, a, b, c, d in zip(reference.hessian(*fixture.tangents), *stencil, strict=True):
        slope = (8 * (c - b) - (d - a)) / (12 * h)
        assert np.linalg.norm(slope - product) <= 1e-8 * size
        assert np.linalg.norm(product) >= 1e-4 * size


@pytest.mark.parametrize("name", CURVED)
def test_gate_catches_wrong_products(name):
    case, fixture, reference = right_answer(name)
    check, good = case.oracle(fixture), list(reference.hessian(*fixture.tangents))
    check("hvp", good)
    for index in range(len(good)):
        for factor in (1 + 1e-6, 2.0, 0.5, -1.0, 0.0, np.nan):
            with pytest.raises(Disagreement, match=f"product {index}"):
                check("hvp", [factor * x if i == index else x for i, x in enumerate(good)])
    for wrong in (reference.gradients, fixture.tangents):
        with pytest.raises(Disagreement, match="product"):
            check("hvp", wrong)
    with pytest.raises(Disagreement, match="products, wanted"):
        check("hvp", good[:-1])


def test_gate_catches_an_ignored_cotangent_and_a_missing_gradient():
    case, fixture, reference = right_answer("grad_sum_solve")
    check = case.oracle(fixture)
    with pytest.raises(Disagreement, match="gradient"):
        check("vjp", [np.asarray(reference.value), *reference.gradients])
    with pytest.raises(Disagreement, match="1 gradients, wanted 2"):
        check("backward", [np.asarray(reference.value), reference.gradients[0]])


def test_gate_catches_a_wrong_tangent_and_nan():
    case, fixture, reference = right_answer("grad_sum_svd_s")
    check, value = case.oracle(fixture), np.asarray(reference.value)
    tangent = sum(np.vdot(g, t) for g, t in zip(reference.gradients, fixture.tangents, strict=True))
    check("jvp", [value, np.asarray(tangent)])
    for wrong in (tangent + 1e-6, np.nan):
        with pytest.raises(Disagreement, match="tangent"):
            check("jvp", [value, np.asarray(wrong)])


def test_gate_refuses_single_precision():
    fixture = square_product(8)
    check = decompositions.product_oracle(fixture)
    product = fixture.operands[0] @ fixture.operands[1]
    check("primal", [product])
    with pytest.raises(Disagreement, match="dtype float32"):
        check("primal", [product.astype(np.float32)])


def test_decomposition_checks_ignore_signs_and_see_faults():
    fixture = one_symmetric(10)
    w, v = np.linalg.eigh(fixture.operands[0])
    check = decompositions.eigh_oracle(fixture)
    check("primal", [w, v * np.where(np.arange(10) % 2, 1.0, -1.0)])
    with pytest.raises(Disagreement, match="V W"):
        check("primal", [w + 1e-9, v])
    with pytest.raises(Disagreement, match="order"):
        check("primal", [w[::-1], v[:, ::-1]])
    with pytest.raises(Disagreement, match="V"):
        check("primal", [w, v * 1.001])


def test_solution_is_judged_by_its_backward_error():
    fixture = system(10, 3)
    check = decompositions.solve_oracle(fixture)
    x = np.linalg.solve(*fixture.operands)
    check("primal", [x])
    with pytest.raises(Disagreement, match="backward error"):
        check("primal", [x * (1 + 1e-9)])


def test_fixtures_have_the_spectrum_that_they_promise():
    (a,) = one_symmetric(30).operands
    assert np.allclose(np.linalg.eigvalsh(a), eigenvalues(30), rtol=0, atol=1e-13)
    s = np.linalg.svd(square_product(30).operands[0], compute_uv=False)
    assert np.allclose(s / s[0], singular_values(30), rtol=0, atol=1e-13)


def test_fixtures_are_the_same_every_time_and_full_rank():
    first, again = system(64, 1), system(64, 1)
    assert all(np.array_equal(x, y) for x, y in zip(first.operands, again.operands, strict=True))
    assert np.linalg.matrix_rank(first.operands[0]) == 64
    assert not np.array_equal(system(64, 1).operands[0], system(64, 16).operands[0])


def test_gaussian_process_reference_agrees_with_its_formula():
    """The closed-form gradient against central differences of the formula (h^2 + u/h, as above)."""
    pytest.importorskip("sklearn", reason="the diabetes data comes with scikit-learn")
    from taenite.bench import formulas

    fixture = real.diabetes(60, 10)
    theta, *rest = fixture.operands
    reference = real.gp_reference(*fixture.operands)
    ops = formulas.numpy_ops(np)
    direction = np.linspace(-1, 1, len(theta))
    low, high = (float(formulas.gp_log_marginal(ops, theta + h * direction, *rest)) for h in (-1e-5, 1e-5))
    assert float(formulas.gp_log_marginal(ops, theta, *rest)) == pytest.approx(reference.value, rel=1e-10)
    assert (high - low) / 2e-5 == pytest.approx(float(reference.gradients[0] @ direction), rel=1e-6)
