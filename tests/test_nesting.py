"""Derivatives inside derivatives: every nesting of grad, jvp and vjp to depth 3, closures, refusals."""

import contextlib
import itertools

import numpy as np
import pytest

import taenite as tn


def t(value):
    return tn.asarray(np.asarray(value, "float64"))


def by_grad(f):
    return tn.grad(f)


def by_jvp(f):
    return lambda x: tn.jvp(f, (x,), (t(1.0),))[1]


def by_vjp(f):
    return lambda x: tn.vjp(f, x)[1](t(1.0))


def by_backward(f):
    """The derivative of a leaf made here: for the outermost place only, since it starts a tape of its own."""

    def derivative(x):
        leaf = tn.variable(x)
        f(leaf).backward()
        return leaf.grad

    return derivative


TRANSFORMS = [by_grad, by_jvp, by_vjp]
NESTINGS = [order for depth in (1, 2, 3) for order in itertools.product(TRANSFORMS, repeat=depth)]


def name_of(order):
    return "-".join(transform.__name__.removeprefix("by_") for transform in order)


def single(result):
    return result[0] if isinstance(result, tuple) else result


def derivative(f, order):
    for transform in reversed(order):
        f = (lambda inner: lambda x: single(inner(x)))(transform(f))
    return f


nestings = pytest.mark.parametrize("order", NESTINGS, ids=name_of)


@nestings
def test_scalar_derivatives(order):
    at, expected = 0.7, [np.cos(0.7), -np.sin(0.7), -np.cos(0.7)][len(order) - 1]
    assert float(derivative(tn.sin, order)(t(at))) == pytest.approx(expected, rel=1e-14)


@nestings
def test_a_derivative_of_backward_of_the_nesting(order):
    if len(order) == 3:
        order = order[:2]
    expected = [-np.sin(0.7), -np.cos(0.7)][len(order) - 1]
    assert float(by_backward(derivative(tn.sin, order))(t(0.7))) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("order", [o for o in NESTINGS if len(o) == 2], ids=name_of)
def test_a_closure_over_the_outer_variable(order):
    """d/dx of x d/dy(x y^3) at y = x, which is 3 x^4: closure and argument both carry x."""
    outer, inner = order

    def f(x):
        return x * single(inner(lambda y: x * y * y * y)(x))

    assert float(single(outer(f)(t(1.5)))) == pytest.approx(12 * 1.5**3, rel=1e-14)


@pytest.mark.parametrize("order", [o for o in NESTINGS if len(o) == 3], ids=name_of)
def test_closures_over_two_outer_variables(order):
    """d/dx d/dy d/dz of sin(x y z) at y = x and z = x, each variable reached through a closure only."""
    first, second, third = order

    def of_x(x):
        def of_y(y):
            return single(third(lambda z: tn.sin(x * y * z))(t(2.0)))

        return single(second(of_y)(t(3.0)))

    u = 0.1 * 3.0 * 2.0
    expected = np.cos(u) - 3 * u * np.sin(u) - u * u * np.cos(u)
    assert float(single(first(of_x)(t(0.1)))) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("order", [o for o in NESTINGS if len(o) == 2], ids=name_of)
def test_perturbation_confusion(order):
    """d/dx (x d/dy (x + y)) is 1 (Siskind and Pearlmutter, 2005); confused tags give 2."""
    outer, inner = order

    def f(x):
        return x * single(inner(lambda y: x + y)(t(1.0)))

    assert float(single(outer(f)(t(1.0)))) == 1.0


@pytest.mark.parametrize("order", [o for o in NESTINGS if len(o) == 2], ids=name_of)
def test_confusion_through_a_returned_function(order):
    """D (\\x. \\f. \\y. f(x + y)) applied twice to a function: the amazing bug of Manzyuk et al., 2019."""
    outer, inner = order

    def shifted(h):
        return lambda y: single(outer(lambda x: h(x + y))(t(0.0)))

    assert float(shifted(shifted(tn.exp))(t(1.0))) == pytest.approx(np.e, rel=1e-14)
    assert float(single(inner(shifted(tn.exp))(t(1.0)))) == pytest.approx(np.e, rel=1e-14)


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_inner_derivative_of_a_constant_is_zero(transform):
    x = t(2.0)
    inner = transform(lambda y: x * x + 0 * y)
    assert float(single(transform(lambda z: single(inner(t(1.0))) * z)(t(3.0)))) == 0.0


def test_an_argument_that_the_function_ignores_has_a_zero_gradient():
    assert (np.asarray(tn.grad(lambda x: t(1.0) * 2)(t([1.0, 2.0]))) == 0).all()


def test_matrix_functions_nest_with_closures():
    """d/ds of sum(grad of logdet(A + s B)) = -sum of (A + s B)^-T B^T (A + s B)^-T."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 4)) + 4 * np.eye(4), rng.standard_normal((4, 4))
    inverse = np.linalg.inv(a)
    expected = -(inverse @ b @ inverse).sum()

    def inner(s):
        return tn.sum(tn.grad(lambda m: tn.linalg.slogdet(m + s * t(b))[1])(t(a)))

    for transform in TRANSFORMS:
        assert float(single(transform(inner)(t(0.0)))) == pytest.approx(expected, rel=1e-12)


def test_hessian_vector_products_in_three_ways():
    rng = np.random.default_rng(3)
    a, v = rng.standard_normal((3, 3)) + 3 * np.eye(3), rng.standard_normal((3, 3))

    def f(x):
        return tn.sum(tn.linalg.inv(x) ** 2)

    forward_over_reverse = tn.jvp(tn.grad(f), (t(a),), (t(v),))[1]
    reverse_over_forward = tn.grad(lambda x: tn.jvp(f, (x,), (t(v),))[1])(t(a))
    reverse_over_reverse = tn.grad(lambda x: tn.sum(tn.grad(f)(x) * t(v)))(t(a))
    np.testing.assert_allclose(np.asarray(reverse_over_forward), np.asarray(forward_over_reverse), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(reverse_over_reverse), np.asarray(forward_over_reverse), rtol=1e-12)


def test_variable_and_backward_inside_jvp():
    """A leaf made from a dual number is refused."""

    def inner_gradient(x):
        leaf = tn.variable(x)
        (leaf * leaf * leaf).backward()
        return leaf.grad

    with pytest.raises(tn.errors.TracingError, match="variable: x is a value of a jvp"):
        tn.jvp(inner_gradient, (t(2.0),), (t(1.0),))


def test_backward_of_an_outer_leaf_accumulates_through_inner_transforms():
    x = tn.variable(t(2.0))
    (x * tn.grad(lambda y: x * y * y)(t(3.0))).backward()
    assert float(x.grad) == 24.0
    (x * x).backward()
    assert float(x.grad) == 28.0


class Interruption(Exception):
    pass


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_exception_in_the_function_leaves_nothing_stale(transform):
    def fails(x):
        raise Interruption

    with pytest.raises(Interruption):
        derivative(fails, (transform, transform))(t(1.0))
    assert float(single(transform(tn.sin)(t(0.0)))) == 1.0


def test_an_exception_in_the_middle_of_a_backward_leaves_nothing_stale():
    """The gauge check fails inside the pass, after the cotangents of later nodes were accumulated."""
    x = tn.variable(tn.asarray(np.array([[1 + 2j, 3 - 1j], [0.5j, 2]])))
    w = tn.variable(t(2.0))
    u = tn.linalg.svd(x, full_matrices=False)[0]
    good, bad = tn.sum(tn.abs(u) ** 2 * tn.abs(u) ** 2) * w, tn.sum(tn.real(u)) * w
    with pytest.raises(tn.errors.GaugeError):
        (good + bad).backward(retain_graph=True)
    x.grad = w.grad = None
    good.backward()
    fresh = tn.grad(lambda m: tn.sum(tn.abs(tn.linalg.svd(m, full_matrices=False)[0]) ** 4) * 2.0)(x.detach())
    np.testing.assert_allclose(np.asarray(x.grad), np.asarray(fresh), rtol=1e-12, atol=1e-13)


def test_a_second_backward_says_what_to_do():
    x = tn.variable(t(2.0))
    loss = x * x * x
    loss.backward()
    with pytest.raises(RuntimeError, match="retain_graph"):
        loss.backward()


def test_retain_graph_allows_a_second_backward():
    x = tn.variable(t(2.0))
    loss = x * x
    loss.backward(retain_graph=True)
    loss.backward()
    assert float(x.grad) == 8.0


def test_a_failed_second_backward_does_not_spoil_the_gradient():
    x = tn.variable(t(2.0))
    loss = x * x
    loss.backward()
    with contextlib.suppress(RuntimeError):
        loss.backward()
    assert float(x.grad) == 4.0


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_an_escaped_value_is_refused(transform):
    kept = []

    def leaks(x):
        kept.append(x)
        return x * x

    transform(leaks)(t(2.0))
    with pytest.raises(tn.errors.TracingError, match="escaped"):
        kept[0] * 3


def test_an_escaped_dual_number_is_an_error_that_says_so():
    kept = []
    tn.jvp(lambda x: kept.append(x) or x * x, (t(2.0),), (t(1.0),))
    with pytest.raises(tn.errors.TracingError, match="jvp"):
        kept[0] * 3


def test_no_grad_stops_the_tape_but_not_a_grad_inside():
    x = tn.variable(t(2.0))
    with tn.no_grad():
        y = x * x
        inner = tn.grad(lambda z: z * z * z)(t(2.0))
    assert float(inner) == 12.0
    with pytest.raises((RuntimeError, ValueError)):
        y.backward()
    (x * x).backward()
    assert float(x.grad) == 4.0


def test_no_grad_inside_a_grad_makes_constants():
    def f(x):
        with tn.no_grad():
            constant = x * x
        return constant * x

    assert float(tn.grad(f)(t(3.0))) == 9.0


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("stop", [tn.stop_gradient, lambda x: x.detach()], ids=["stop_gradient", "detach"])
def test_stopping_a_gradient(transform, stop):
    assert float(single(transform(lambda x: x * stop(x))(t(3.0)))) == 3.0


def test_stopping_only_the_innermost_gradient():
    """stop_gradient cuts every level that the value belongs to."""
    inner = tn.grad(lambda x: x * tn.stop_gradient(x) * x)
    assert float(inner(t(2.0))) == 8.0
    assert float(tn.grad(inner)(t(2.0))) == 4.0


def test_a_complex_function_needs_an_explicit_cotangent():
    z = tn.asarray(np.array(1 + 2j))
    with pytest.raises((TypeError, ValueError), match="real"):
        tn.grad(lambda z: z * z)(z)
    pulled = single(tn.vjp(lambda z: z * z, z)[1](tn.asarray(np.array(1 + 0j))))
    assert complex(pulled) == 2 * (1 - 2j)


def test_grad_by_several_arguments():
    first, second = tn.grad(lambda x, y: x * x * y, argnums=(0, 1))(t(2.0), t(5.0))
    assert (float(first), float(second)) == (20.0, 4.0)


def test_a_pullback_may_be_called_twice():
    pull = tn.vjp(lambda x: x * x, t(3.0))[1]
    assert [float(single(pull(t(seed)))) for seed in (1.0, 2.0)] == [6.0, 12.0]


def test_a_long_chain_inside_a_jvp():
    """Neither mode recurses over the graph."""

    def chain(x):
        for _ in range(20_000):
            x = x * 1.0001
        return x

    expected = 1.0001**20_000
    assert float(tn.jvp(chain, (t(1.0),), (t(1.0),))[1]) == pytest.approx(expected, rel=1e-10)
    assert float(tn.grad(chain)(t(1.0))) == pytest.approx(expected, rel=1e-10)
