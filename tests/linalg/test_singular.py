"""Whether a matrix is singular does not depend on how its elimination happened to round."""

import itertools

import numpy as np
import pytest

import taenite as tn

DTYPES = ["float32", "float64", "complex64", "complex128"]
CLASSIC = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 9]])


def typed(a, dtype):
    """A complex multiple for complex dtypes: (1 + 2j) times small integers is exact."""
    return (a * (1 + 2j) if np.dtype(dtype).kind == "c" else a).astype(dtype)


def singular(rng, n, kind):
    if kind == "a row is the sum of the others":
        a = rng.integers(-3, 4, (n, n))
        a[-1] = a[:-1].sum(0)
    else:
        rank = n - 1 if kind == "rank n - 1" else (n + 1) // 2
        a = rng.integers(-5, 6, (n, rank)) @ rng.integers(-2, 3, (rank, n))
    return a[rng.permutation(n)]


def refuses(call):
    with pytest.raises(tn.errors.LinAlgError, match=r"is singular.*: pivot \d+ is zero to working precision"):
        call()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["a row is the sum of the others", "rank n - 1", "about half the rank"])
def test_singular_matrices_of_integers_are_refused(kind, dtype):
    rng = np.random.default_rng(0)
    for n in range(2, 41):
        stack = np.stack([typed(singular(rng, n, kind), dtype) for _ in range(6)])
        b = np.ones(n, dtype)
        for a in stack:
            refuses(lambda a=a: tn.linalg.inv(a))
            refuses(lambda a=a, b=b: tn.linalg.solve(a, b))
            refuses(lambda a=a, b=b: tn.linalg.solve(a.T, b))
            with pytest.raises(tn.errors.LinAlgError, match=r"linalg\.lu_solve: a is singular"):
                tn.linalg.lu_solve(tn.linalg.lu_factor(a), b)
        assert np.all(np.asarray(tn.linalg.inv_ex(stack).info) > 0)
        assert np.all(np.asarray(tn.linalg.solve_ex(stack, b).info) > 0)
        assert np.all(np.asarray(tn.linalg.lu_factor_ex(stack).info) > 0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_classic_singular_matrix_in_every_order(dtype):
    for rows, columns in itertools.product(itertools.permutations(range(3)), repeat=2):
        a = typed(CLASSIC[list(rows)][:, list(columns)], dtype)
        refuses(lambda a=a: tn.linalg.solve(a, np.ones(3, dtype)))
        refuses(lambda a=a: tn.linalg.inv(a / 7))


def test_the_error_names_the_batch_index_and_the_pivot():
    a = np.stack([np.eye(3)] * 6).reshape(2, 3, 3, 3)
    a[1, 0] = CLASSIC
    message = r"at batch index \(1, 0\): pivot 3 is zero to working precision \(LAPACK info 3\)"
    for call in (tn.linalg.inv, lambda a: tn.linalg.solve(a, np.ones(3))):
        with pytest.raises(tn.errors.LinAlgError, match=message):
            call(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("count", [1, 9])
def test_scaled_rows_and_columns_do_not_matter(dtype, count):
    tiny, huge = (1e-18, 1e18) if np.finfo(dtype).bits == 32 else (1e-140, 1e140)
    regular = np.array([[1.0, 1.0], [1.0, 2.0]])
    rows, columns = ([1, 1], [1, tiny], [tiny, 1], [huge, 1]), ([1, 1], [1, tiny], [1, huge])
    for left, right in itertools.product(rows, columns):
        for a, verdict in ((regular, 0), (np.ones((2, 2)), 2)):
            stack = np.stack([typed(a * np.outer(left, right), dtype)] * count)
            assert np.asarray(tn.linalg.inv_ex(stack).info).tolist() == [verdict] * count


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_badly_scaled_system_is_solved_in_silence(order):
    a = np.array([[1.0, 1.0], [1e-20, 2e-20]], order=order)
    np.testing.assert_allclose(np.asarray(tn.linalg.solve(a, a @ [1.0, 2.0])), [1, 2], rtol=1e-15)


def test_a_scale_that_misleads_the_choice_of_pivots_warns():
    """The second row is lost beside 1e20, although the rows in one scale would have condition 3."""
    a = np.array([[10.0, 1e20], [1.0, 1.0]], order="F")
    with pytest.warns(tn.errors.IllConditionedWarning):
        tn.linalg.solve(a, np.array([1e20, 2.0]))


@pytest.mark.parametrize("n", [8, 64, 200])
def test_regular_matrices_are_not_refused(n):
    rng = np.random.default_rng(n)
    for _ in range(50):
        tn.linalg.inv(rng.standard_normal((n, n)).astype("float32"))


def hilbert(n):
    return 1.0 / (1 + np.arange(n) + np.arange(n)[:, None])


def test_hilbert_matrices():
    """Silent while the condition number is below 1 / u, then a warning, then (from 3e18 on) an error."""
    for n in range(1, 12):
        tn.linalg.inv(hilbert(n))
    with pytest.warns(tn.errors.IllConditionedWarning):
        tn.linalg.inv(hilbert(12))
    for n in range(13, 30):
        refuses(lambda n=n: tn.linalg.inv(hilbert(n)))


def test_a_singular_block_beside_a_regular_one():
    a = np.eye(8)
    a[2:5, 2:5] = CLASSIC / 3
    refuses(lambda: tn.linalg.inv(a))


def test_small_stacks_keep_the_inverses_of_the_others():
    rng = np.random.default_rng(5)
    a = rng.standard_normal((40, 4, 4))
    a[7], a[23] = np.arange(16.0).reshape(4, 4), np.nan
    y, info = map(np.asarray, tn.linalg.inv_ex(a))
    assert info[7] > 0 and info[23] == -1 and np.count_nonzero(info) == 2
    assert np.isnan(y[[7, 23]]).all()
    good = info == 0
    np.testing.assert_allclose(y[good], np.linalg.inv(a[good]), rtol=1e-10)


def test_determinants_are_numbers_and_the_logarithm_has_no_derivative():
    assert abs(tn.linalg.det(CLASSIC).item()) < 1e-14
    assert tn.linalg.slogdet(CLASSIC).logabsdet.item() < -30
    for a in (CLASSIC, CLASSIC.T):
        with pytest.raises(tn.errors.LinAlgError, match="singular matrix has no derivative"):
            tn.grad(lambda a: tn.linalg.slogdet(a).logabsdet)(tn.asarray(a))
