"""einsum: values against NumPy, paths, plans, gradients, and errors that name labels."""

import numpy as np
import pytest

import taenite as tn

RNG = np.random.default_rng(6)
SIZES = dict(zip("abcdefghij", (2, 3, 4, 2, 3, 5, 2, 3, 2, 4), strict=True))

EQUATIONS = [
    "ab,bc->ac",
    "ab,bc->ca",
    "ab,bc",
    "ba,bc->ac",
    "ab->ba",
    "ab->",
    "ab->b",
    "aab->ab",
    "aab->ba",
    "aa",
    "aa->a",
    "aab,bcc->a",
    "ab,ab->ab",
    "ab,ab->",
    "ab,cd->dcba",
    "a,a,a->a",
    "a,b,c->cab",
    "abc,cbd,dae->e",
    "abcd,cdef,efab->",
    "ab,bc,cd,de,ef->af",
    "ab,bc,cd,de,ef,fg,gh->ah",
    "abc,abc->ab",
    "cab,abf->fab",
    "...ab,...bc->...ac",
    "a...,b...->...ab",
    "...a->...",
    "a...a->...",
    ",ab->ab",
]


def operands(equation, dtype="float64"):
    out = []
    for i, term in enumerate(equation.partition("->")[0].split(",")):
        shape = [SIZES[c] for c in term.replace("...", "")]
        if "..." in term:
            at = term.index("...")
            shape[at:at] = (2, 3) if i == 0 else (3,)
        x = RNG.normal(size=shape)
        out.append((x + 1j * RNG.normal(size=shape) if dtype.startswith("c") else x).astype(dtype))
    return out


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_matches_numpy(equation, dtype):
    xs = operands(equation, dtype)
    expected = np.einsum(equation, *xs, optimize=True)
    for _ in range(2):  # the second call finds its plan
        got = np.asarray(tn.einsum(equation, *xs))
        assert got.shape == expected.shape and got.dtype == dtype
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("equation", [e for e in EQUATIONS if e.count(",") > 1])
@pytest.mark.parametrize("optimize", ["greedy", "optimal", False, True])
def test_every_path_gives_the_same(equation, optimize):
    xs = operands(equation)
    expected = np.einsum(equation, *xs, optimize=True)
    np.testing.assert_allclose(np.asarray(tn.einsum(equation, *xs, optimize=optimize)), expected, atol=1e-11)


def test_many_labels_and_lists():
    a, b = RNG.normal(size=(2, 3, 4)), RNG.normal(size=(4, 3))
    expected = np.einsum("ijk,kj->i", a, b)
    np.testing.assert_allclose(np.asarray(tn.einsum(a, [0, 1, 2], b, [2, 1], [0])), expected, atol=1e-13)
    np.testing.assert_allclose(np.asarray(tn.einsum(a, [9, 1, 2], b, [2, 1])), expected, atol=1e-13)
    np.testing.assert_allclose(
        np.asarray(tn.einsum(a, ["x", ...], b, [2, 1], ["x", ..., 2, 1])).shape, (2, 3, 4, 4, 3)
    )
    np.testing.assert_allclose(np.asarray(tn.einsum("λμν,νμ->λ", a, b)), expected, atol=1e-13)
    wide = np.ones((1,) * 60)
    assert tn.einsum(wide, list(range(60)), wide, list(range(60)), []).item() == 1.0


def test_paths_with_steps_of_three():
    x = np.ones((2, 2))
    got = tn.einsum("ij,jk,kl->il", x, x, x, optimize=[(0, 1, 2)])
    np.testing.assert_array_equal(np.asarray(got), [[4.0, 4.0], [4.0, 4.0]])
    xs = operands("ab,bc,cd,de,ef->af")
    expected = np.einsum("ab,bc,cd,de,ef->af", *xs, optimize=True)
    for path in ([(1, 2, 3), (0, 1), (0, 1)], ["einsum_path", (0, 4), (0, 1), (0, 1, 2)], [(3, 4)]):
        np.testing.assert_allclose(
            np.asarray(tn.einsum("ab,bc,cd,de,ef->af", *xs, optimize=path)), expected, atol=1e-12
        )


def test_a_function_may_find_the_path():
    asked = []

    def finder(inputs, output, sizes, memory_limit):
        asked.append((inputs, output, sizes))
        return [(1, 2), (0, 1)]

    x = RNG.normal(size=(3, 3))
    tn.einsum("ij,jk,kl->il", x, x, x, optimize=finder)
    assert asked == [([{"i", "j"}, {"j", "k"}, {"k", "l"}], {"i", "l"}, dict.fromkeys("ijkl", 3))]


def test_the_best_order_of_a_chain_is_found():
    shapes = [(2, 100), (100, 100), (100, 3)]
    for optimize in ("auto", "greedy", "optimal"):
        plan = tn.einsum_plan("ij,jk,kl->il", *shapes, optimize=optimize)
        assert plan.multiplications == 2 * 100 * 100 + 2 * 100 * 3


def test_plans_print_themselves_and_are_callable():
    plan = tn.einsum_plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
    text = str(plan)
    assert "ij,jk->ik" in text and "matrix product" in text and "multiplications  64" in text
    xs = [RNG.normal(size=s) for s in ((2, 3), (3, 4), (4, 5))]
    np.testing.assert_allclose(np.asarray(plan(*xs)), xs[0] @ xs[1] @ xs[2], atol=1e-13)
    np.testing.assert_allclose(
        np.asarray(tn.einsum("ij,jk,kl->il", *xs, optimize=plan)), xs[0] @ xs[1] @ xs[2], atol=1e-13
    )
    with pytest.raises(ValueError, match="the plan is for shapes"):
        plan(*xs[::-1])
    assert tn.einsum_path("ij,jk->ik", *xs[:2])[0] == [(0, 1)]


def test_a_matrix_product_is_one_gemm():
    a, b = tn.asarray(RNG.normal(size=(40, 50))), tn.asarray(RNG.normal(size=(60, 50)))
    with tn.observe() as seen:
        tn.einsum("ik,jk->ji", a, b)
    assert seen.counts["gemm"] == 1 and seen.copies.count == 0 and seen.fills.count == 0


@pytest.mark.parametrize("equation", [e for e in EQUATIONS if e != "ab->ba"])
def test_gradients(equation):
    xs = operands(equation, "complex128")
    g = RNG.normal(size=np.einsum(equation, *xs).shape) + 0.5j
    leaves = [tn.variable(tn.asarray(x)) for x in xs]
    tn.einsum(equation, *leaves).backward(tn.asarray(g))
    for i, leaf in enumerate(leaves):
        dx = RNG.normal(size=xs[i].shape) + 1j * RNG.normal(size=xs[i].shape)
        dy = np.einsum(equation, *xs[:i], dx, *xs[i + 1 :], optimize=True)
        left, right = np.sum(np.conj(g) * dy).real, np.sum(np.conj(np.asarray(leaf.grad)) * dx).real
        assert left == pytest.approx(right, rel=1e-10, abs=1e-10)


def test_traces_have_the_gradient_of_the_identity():
    x = tn.variable(tn.asarray([[0.0, 1.0], [2.0, 3.0]]))
    tn.einsum("ii->", x).backward()
    assert x.grad.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_dtypes():
    assert tn.einsum("i,i->i", tn.ones(2, dtype="int8"), tn.ones(2, dtype="float32")).dtype is tn.float32
    hundred = tn.full(2, 100, dtype="int8")
    wrapped = tn.einsum("i,i->", hundred, tn.full(2, 2, dtype="int8"))
    assert wrapped.dtype is tn.int8 and wrapped.item() == -112
    assert tn.einsum("i,i->", tn.asarray([True, False]), tn.asarray([True, True])).item() is True


def test_size_one_broadcasts_where_it_may():
    a, b = RNG.normal(size=(4, 1)), RNG.normal(size=(1, 3))
    with pytest.raises(
        ValueError, match=r"label 'k': size 1 in operand 0, size 3 in operand 1; strict=False"
    ):
        tn.einsum("ik,jk->ij", a, b)
    got = tn.einsum("ik,jk->ij", a, b, strict=False)
    np.testing.assert_allclose(np.asarray(got), np.einsum("ik,jk->ij", a, b), atol=1e-13)
    c, d = RNG.normal(size=(4, 1, 2)), RNG.normal(size=(5, 2))
    np.testing.assert_allclose(
        np.asarray(tn.einsum("...i,...i->...", c, d)), np.einsum("...i,...i->...", c, d), atol=1e-13
    )


ONES = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tn.einsum("ii->i", np.ones((1, 3))), "label 'i' has sizes 1 and 3 in operand 0"),
        (
            lambda: tn.einsum("bix,iox->box", np.ones((2, 3, 4)), np.ones((2, 3, 4))),
            "label 'i': size 3 in operand 0, size 2 in operand 1",
        ),
        (lambda: tn.einsum("ij->ik", ONES), "output label 'k' never appears in an input"),
        (lambda: tn.einsum("ij->ii", ONES), "output label 'i' appears more than once"),
        (lambda: tn.einsum("ij,jk->ik", ONES), "2 terms for 1 operands"),
        (lambda: tn.einsum("ijk->i", ONES), "operand 0 has 2 axes, its term has 3 labels"),
        (lambda: tn.einsum("i->i", ONES), "operand 0 has 2 axes, its term has 1 labels"),
        (lambda: tn.einsum("i.j->i", ONES), "'.' in the term 'i.j' is not a label"),
        (lambda: tn.einsum("...i...->i", ONES), "2 ellipses"),
        (lambda: tn.einsum("ij,jk,kl->il", ONES, ONES.T, ONES, optimize="best"), "optimize must be"),
        (lambda: tn.einsum("ij,jk,kl->il", ONES, ONES.T, ONES, optimize=[(0, 3)]), r"path step \(0, 3\)"),
        (
            lambda: tn.einsum("ij,ij->ij", ONES, ONES, optimize=tn.einsum_plan("ij->ij", (2, 3))),
            "the plan is for",
        ),
    ],
)
def test_errors_name_what_the_user_wrote(call, text):
    with pytest.raises(ValueError, match=text.replace("(", r"\(") if "\\" not in text else text):
        call()
