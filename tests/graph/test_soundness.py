"""Compiled functions give eager's results where it is easy to give others: sizes that become numbers, tensors
that are closed over, memory that is shared, derivatives that must not pass."""

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import taenite as tn
from taenite import _core
from taenite.errors import TracingError
from taenite.graph import derive

SHAPES = [(2, 2), (3, 2), (2, 3), (4, 4), (1, 5), (5, 1), (0, 2), (2, 0), (7, 3), (2, 2)]


def results(y):
    return list(y) if isinstance(y, tuple) else [y]


def agree(f, program, *args):
    try:
        wanted = results(f(*args))
    except (ValueError, IndexError, ZeroDivisionError) as error:
        with pytest.raises(type(error)) as caught:
            program(*args)
        assert str(error) in str(caught.value)
        return
    for got, want in zip(results(program(*args)), wanted, strict=True):
        # a handful of operations
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12, atol=1e-13)


# ---- sizes as numbers

SIZES = {
    "tensor": lambda x: x * tn.asarray(x.shape[0]),
    "list": lambda x: x * tn.asarray(list(x.shape)).sum(),
    "numpy": lambda x: x * np.prod(x.shape) + np.int64(3) * x.shape[0],
    "full": lambda x: tn.full((2,), x.shape[0]) * 1.0,
    "text": lambda x: x * int(str(x.shape[0])) + len(f"{x.shape[1]:03}"),
    "truth": lambda x: x.sum() + (1.0 if x.shape[0] else 2.0),
    "divmod": lambda x: x * divmod(x.shape[0], 2)[0] + divmod(7, x.shape[1] + 1)[1],
    "bits": lambda x: x * ((x.shape[0] & 1) | (x.shape[1] << 1) ^ (9 >> x.shape[0])) + abs(~x.shape[0]),
    "rounded": lambda x: x * round(x.shape[0]) + (+x.shape[1]),
    "arange": lambda x: tn.arange(x.shape[0]) * x[:, :1].T,
    "eye": lambda x: tn.eye(x.shape[0], k=x.shape[1] - 2),
    "tril": lambda x: tn.tril(x, k=x.shape[0] - 2),
    "diagonal": lambda x: tn.diagonal(x, offset=x.shape[0] - 2),
    "split": lambda x: tn.split(x, x.shape[0] // 2 + 1, axis=0)[0],
    "take": lambda x: x[[0, x.shape[0] - 1]],
    "clip": lambda x: tn.clip(x, 0, x.shape[0]),
    "where": lambda x: tn.where(x > 0, x.shape[0], x.shape[1]),
    "returned": lambda x: (x.shape[0], x.size, x.shape[1] + 1),
    "dead": lambda x: x * 1.0 if tn.argmax(x).shape == () and x.min(axis=0).shape else x,
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_as_numbers(name, random):
    f = SIZES[name]
    program = tn.compile(f)
    for shape in SHAPES:
        agree(f, program, random(*shape))


def test_messages_show_sizes_as_numbers():
    with pytest.raises(IndexError, match="index -1 is out of bounds for axis 0 of size 0"):
        tn.compile(lambda x: x[-1])(tn.zeros((0, 3)))


def test_traced_values_have_no_memory():
    for f in (lambda x: x * x.strides[0], lambda x: pickle.dumps(x) and x):
        with pytest.raises(TracingError, match="a traced value has no"):
            tn.compile(f)(tn.ones(2))
    program = tn.compile(lambda x: (x.copy(), copy.deepcopy(x)))
    x = tn.ones(2)
    first, second = program(x)
    first[0], second[1] = 5.0, 6.0
    assert x.tolist() == [1.0, 1.0]


# ---- what a program is made for


def test_static_arguments_are_told_apart_exactly():
    program = tn.compile(lambda x, k: x * k[0][0], static_argnames="k")
    x = tn.asarray([1, 2])
    assert program(x, ((2,),)).dtype is tn.int64
    assert program(x, ((2.0,),)).dtype is tn.float64
    sign = tn.compile(lambda x, k: tn.copysign(x, k), static_argnames="k")
    assert sign(tn.ones(1), 0.0).tolist() == [1.0] and sign(tn.ones(1), -0.0).tolist() == [-1.0]


def test_what_is_closed_over_may_be_written(random):
    scale, table = tn.asarray(2.0), tn.asarray([1.0, 2.0])

    def f(x):
        return x * scale, x * 2.0, x * (table * 3.0), tn.exp(table) + x

    program = tn.compile(f)
    x = random(2)
    for _ in range(3):
        agree(f, program, x)
        scale[...] = scale.item() + 1.0
        table[0] = table[0] + 1.0


def test_what_is_closed_over_may_not_be_written_before_its_backward_pass():
    k = tn.asarray([1.0, 2.0])
    program = tn.compile(lambda x: (x * k).sum())
    x = tn.variable([1.0, 1.0])
    value = program(x)
    k[0] = 5.0
    with pytest.raises(RuntimeError, match="closed over was modified in place"):
        value.backward()
    program(x).backward()
    assert x.grad.tolist() == [5.0, 2.0]
    call = program.prepare(tn.ones(2))
    k[0] = 6.0
    with pytest.raises(RuntimeError, match=r"closed over was modified in place .*prepare another call"):
        call(tn.ones(2))


def test_prepared_calls_are_for_what_is_no_tensor_too():
    x = tn.ones(2)
    integer = tn.compile(lambda x, n: x * n).prepare(x, 3)
    static = tn.compile(lambda x, k: x * k, static_argnames="k").prepare(x, k=1.5)
    tree = tn.compile(lambda d: d["a"] - d["b"]).prepare({"a": x, "b": x})
    assert integer(x, 3).tolist() == [3.0, 3.0] and static(x, k=1.5).tolist() == [1.5, 1.5]
    for call in (
        lambda: integer(x, 4),
        lambda: integer(x, True),
        lambda: static(x, k=2.5),
        lambda: tree({"b": x, "c": x}),
    ):
        with pytest.raises(TypeError, match="what the call was prepared for"):
            call()


# ---- memory


def test_equal_views_are_fresh():
    """Where eager code computes twice, writing to one result changes no other."""
    program = tn.compile(lambda x: (x + 1.0, (x + 1.0).T, (x + 1.0)[0], tn.asarray([1.0, 2.0])[::-1]))
    for _ in range(2):
        outputs = program(tn.zeros((2, 2)))
        wanted = [np.asarray(y).copy() for y in outputs]
        for i, y in enumerate(outputs):
            y[...] = 7.0
            for j in range(i + 1, 4):
                np.testing.assert_array_equal(np.asarray(outputs[j]), wanted[j])
        assert wanted[3].tolist() == [2.0, 1.0]


def test_a_constant_spread_over_one_element_is_not_handed_out():
    program = tn.compile(tn.grad(lambda x: x.sum()))
    program(tn.ones(1))[0] = 5.0
    assert program(tn.ones(1)).tolist() == [1.0]


def test_into_tensors_that_overlap():
    call = tn.compile(lambda x: (x * 2.0, x)).prepare(tn.ones(2))
    x, y = tn.asarray([1.0, 2.0]), tn.zeros(2)
    call(x, into=(x, y))
    assert x.tolist() == [2.0, 4.0] and y.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="tensors 0 and 1 of into share memory"):
        call(x, into=(y, y))
    array = np.zeros(5)
    with pytest.raises(ValueError, match="share memory"):
        call(x, into=(tn.asarray(array[:2]), tn.asarray(array[1:3])))
    call(x, into=(tn.asarray(array[::2][:2]), tn.asarray(array[1::2])))  # between each other
    assert array.tolist() == [4.0, 2.0, 8.0, 4.0, 0.0]


def test_setitem_of_memory_with_two_owners():
    array = np.arange(4.0)
    x, y = tn.asarray(array), tn.asarray(array[::-1])
    x[...] = y
    assert array.tolist() == [3.0, 2.0, 1.0, 0.0]


# ---- derivatives that do not pass


def in_no_grad(x):
    with tn.no_grad():
        y = tn.sin(x) * x + (x @ x.T).sum()
    return (y * x).sum()


def gradient_in_no_grad(x):
    with tn.no_grad():
        g = tn.grad(lambda z: (z * z * x).sum())(x)
    return (g * x).sum()


STOPPED = {
    "stop_gradient": lambda x: (tn.stop_gradient(x) * x).sum(),
    "detach": lambda x: (x.detach() * tn.exp(x)).sum(),
    "no_grad": in_no_grad,
    "grad in no_grad": gradient_in_no_grad,
    "in grad": lambda x: tn.grad(lambda z: (tn.stop_gradient(z) * z * x).sum())(x).sum(),
    "shifted": lambda x: tn.exp(x - tn.stop_gradient(x.max(axis=1, keepdims=True))).sum(),
    "in a group": lambda x: (
        (tn.stop_gradient(tn.exp(x) * 2.0) * x + x).sum() + tn.stop_gradient((x * x).sum())
    ),
    "spread": lambda x: (tn.stop_gradient(tn.broadcast_to(x.sum(), x.shape)) * x).sum(),
}


@pytest.mark.parametrize("name", STOPPED)
def test_gradients_stop(name, random):
    f = STOPPED[name]
    program = tn.compile(f)
    for n in (3, 4, 1):
        x = random(n, n)
        agree(f, program, x)
        agree(tn.grad(f), tn.grad(program), x)
        agree(*(tn.grad(lambda a, g=g: (tn.grad(g)(a) ** 2).sum()) for g in (f, program)), x)


def test_a_captured_variable_in_no_grad():
    w = tn.variable([1.0, 2.0])

    @tn.compile
    def f(x):
        with tn.no_grad():
            y = w * x
        return (y * w).sum()

    f(tn.asarray([3.0, 4.0])).backward()
    assert w.grad.tolist() == [3.0, 8.0]


# ---- derivatives of every order at every size


@pytest.fixture
def derivations():
    """The modes of the derivatives that are traced."""
    calls = []

    def counted(mode, *args):
        calls.append(mode)
        return derive._derive(mode, *args)

    folder = str(Path(derive.__file__).resolve().parent.parent)
    _core.set_graph_hooks(counted, folder)
    yield calls
    _core.set_graph_hooks(derive._derive, folder)


def test_derivatives_of_derivatives_serve_every_size(derivations, random):
    def f(x):
        return (tn.sin(x) * x).sum()

    program = tn.compile(f)
    orders = [
        lambda g: tn.grad(g),
        lambda g: tn.grad(lambda x: tn.grad(g)(x).sum()),
        lambda g: tn.grad(lambda y: tn.grad(lambda x: tn.grad(g)(x).sum())(y).sum()),
        lambda g: lambda x: tn.jvp(tn.grad(g), (x,), (x,)),
    ]
    for order in orders:
        order(program)(random(3))
    made = len(derivations)
    for n in (5, 3, 1, 7, 4):
        x = random(n)
        for order in orders:
            agree(order(f), order(program), x)
    assert len(derivations) <= made + 8  # once more for size 1, at which an axis may be broadcast


def test_a_group_reads_what_it_knew_by_its_shape(random):
    """A tensor whose shape a sum depended on may not meet that sum in the same loop over tiles."""

    def f(x, y):
        total = tn.broadcast_to(y + y, x.shape).sum()
        return (total * 2.0 + (y * x).sum()) * x

    program = tn.compile(f)
    for n in (2, 100, 3000):
        agree(f, program, random(n), random())


def test_integer_powers_are_checked_in_groups():
    def f(a, b):
        return ((a**b) * 2 + a).sum()

    program = tn.compile(f)
    for n in (5, 200):
        a = tn.asarray(np.arange(n) % 3)
        agree(f, program, a, a)
        agree(f, program, a, -a)


def test_empty_sizes_and_every_order(random):
    def f(x):
        return (tn.exp(x) * x).sum()

    program = tn.compile(f)
    for n in (3, 0, 1, 2):
        x = random(n)
        agree(*(tn.grad(lambda a, g=g: (tn.grad(g)(a) ** 2).sum()) for g in (f, program)), x)


def test_a_long_chain_of_doubled_sizes():
    """Each link names the one before twice: as a tree it would have 2^40 leaves."""

    def f(x):
        n = x.shape[0]
        for _ in range(40):
            n = n + n
        n = n // 2**40
        return tn.cond(x.sum() > 0, lambda: (tn.broadcast_to(x, (n, n)) * x).sum(), lambda: x[:n].sum())

    program, gradient = tn.compile(f), tn.compile(tn.grad(f))
    for k in (2, 3, 5):
        x = tn.ones(k)
        assert program(x).item() == k * k and program(-x).item() == -k
        for g in (gradient(x), tn.grad(program)(x), tn.jvp(gradient, (x,), (x,))[1]):
            assert g.tolist() == [2.0 * k] * k
    assert program.stats.traces == gradient.stats.traces == 1
    assert len(str(program.programs[0])) < 20_000
