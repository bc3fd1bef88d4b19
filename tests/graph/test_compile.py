"""What a compiled function promises: one trace for all sizes, eager numbers, errors with their line."""

import functools
import pickle
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import taenite as tn
from taenite.errors import DegenerateSpectrumWarning, LinAlgError, TracingError


def equal(got, want):
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_one_program_serves_three_sizes(random):
    program = tn.compile(tn.value_and_grad(lambda a, b: tn.tanh(a @ b + b.sum()).sum(), argnums=(0, 1)))
    for m, k, n in [(3, 4, 5), (7, 2, 6), (30, 31, 33)]:
        a, b = random(m, k), random(k, n)
        value, gradients = program(a, b)
        want, wanted = tn.value_and_grad(lambda a, b: tn.tanh(a @ b + b.sum()).sum(), argnums=(0, 1))(a, b)
        np.testing.assert_allclose(value.item(), want.item(), rtol=1e-13)
        for g, w in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-12, atol=1e-12)
    assert program.stats.traces == 1


def test_another_broadcast_is_another_program(random):
    f = tn.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))
    program = tn.compile(f)
    for shapes in [((3, 4), (4,)), ((3, 1), (4,)), ((1, 4), (4,)), ((3, 4), (1,)), ((5, 6), (6,))]:
        x, y = (random(*s) for s in shapes)
        for g, w in zip(program(x, y), f(x, y), strict=True):
            assert g.shape == w.shape
            np.testing.assert_allclose(np.asarray(g), np.asarray(w), rtol=1e-13)
    assert program.stats.traces == 3


def test_a_comparison_of_sizes_is_a_guard(random):
    def f(x):
        return x.sum(axis=0) if x.shape[0] > x.shape[1] else x.sum(axis=1)

    program = tn.compile(f)
    for shape in [(3, 4), (4, 3), (5, 9), (9, 5)]:
        x = random(*shape)
        np.testing.assert_allclose(np.asarray(program(x)), np.asarray(f(x)), rtol=1e-14)
    assert program.stats.traces == 2
    assert "guard %0.shape[1] < %0.shape[0]" in str(program.programs[1])


def test_a_size_as_a_number_makes_the_program_for_that_size(random):
    def f(x):
        return x * (0.5 * x.shape[0]) + sum(range(x.shape[0]))

    program = tn.compile(f)
    for n in (2, 3, 2):
        equal(program(random(n) * 0 + 1.0), f(tn.ones(n)))
    assert program.stats.traces == 2


def test_at_most_eight_programs_are_kept():
    program = tn.compile(lambda x: x * len(range(x.shape[0])))
    for n in range(1, 12):
        equal(program(tn.ones(n)), np.full(n, float(n)))
    assert program.stats == (8, 11, 11, 0)
    program.clear()
    assert program.stats.programs == 0
    equal(program(tn.ones(2)), [2.0, 2.0])


def test_dtypes_and_ranks_have_their_own_programs():
    program = tn.compile(lambda x: x + x)
    for dtype in (tn.float32, tn.float64, tn.complex64, tn.int64):
        for shape in ((), (2,), (2, 2)):
            assert program(tn.ones(shape, dtype=dtype)).dtype is dtype
    assert program.stats.traces == 12 and program.stats.programs == 8


def test_numbers_are_operands_and_integers_are_not():
    program = tn.compile(lambda x, scale, n: x * scale + n)
    x = tn.ones(2, dtype=tn.float32)
    for scale in (1.0, 2.0, 3.0):
        y = program(x, scale, 1)
        assert y.dtype is tn.float32
        equal(y, [scale + 1] * 2)
    assert program.stats.traces == 1
    equal(program(x, 1.0, 5), [6.0, 6.0])
    assert program.stats.traces == 2


def test_static_arguments(random):
    program = tn.compile(lambda x, mode="sum": getattr(x, mode)(), static_argnames="mode")
    x = random(5)
    equal(program(x), x.sum())
    equal(program(x, mode="max"), x.max())
    equal(program(x, "max"), x.max())
    with pytest.raises(ValueError, match="static_argnames must name parameters"):
        tn.compile(lambda x: x, static_argnames="y")
    with pytest.raises(TypeError, match="neither a tensor nor hashable"):
        tn.compile(lambda x, y: x, static_argnames="y")(x, [1])


def test_trees_in_and_out(random):
    @tn.compile
    def f(parameters, *, offset):
        return {"y": (parameters["w"] @ parameters["x"], offset), "n": None}

    w, x = random(3, 3), random(3)
    out = f({"w": w, "x": x}, offset=2.0)
    np.testing.assert_allclose(np.asarray(out["y"][0]), np.asarray(w @ x), rtol=1e-14)
    assert out["y"][1].item() == 2.0 and out["n"] is None


def test_operands_and_constants_may_be_outputs(random):
    x = random(2)
    got = tn.compile(lambda x: (x, 3.0, x))(x)
    equal(got[0], x)
    assert got[1].item() == 3.0


def test_a_variable_around_the_function_gets_its_gradient():
    w = tn.variable([1.0, 2.0])
    program = tn.compile(lambda x: (w * x).sum())
    for x in ([3.0, 4.0], [5.0, 6.0]):
        w.grad = None
        program(tn.asarray(x)).backward()
        equal(w.grad, x)
    assert program.stats.traces == 1


def test_closures_over_other_transforms():
    def outer(x):
        return tn.compile(lambda y: x * y * y)(x)

    assert tn.grad(outer)(2.0).item() == 12.0
    shared = tn.compile(lambda y: y * y)
    assert tn.grad(lambda x: tn.grad(lambda y: shared(x * y))(x))(2.0).item() == 24.0
    _, twice = tn.jvp(tn.grad(lambda x: shared(x) * x), (3.0,), (1.0,))
    assert twice.item() == 18.0


def test_compile_inside_compile():
    inner = tn.compile(lambda x: x * 2.0)
    outer = tn.compile(lambda x: inner(x) + inner(x[:1]))
    equal(outer(tn.asarray([1.0, 2.0])), [4.0, 6.0])


def test_a_tracked_call_records_one_node_and_counts_one_factorization(random):
    program = tn.compile(lambda a, b: tn.linalg.solve(a, b).sum())
    a, b = tn.variable(random(5, 5)), random(5, 1)
    program(a, b).backward()
    a.grad = None
    with tn.observe() as calls:
        program(a, b).backward()
    assert calls.counts["getrf"] == 1 and calls.counts["getrs"] == 2
    want = tn.grad(lambda a: tn.linalg.solve(a, b).sum())(a.detach())
    np.testing.assert_allclose(np.asarray(a.grad), np.asarray(want), rtol=1e-12)


def test_saved_values_are_guarded():
    program = tn.compile(lambda x, y: (x * y).sum())
    y = tn.asarray([1.0, 2.0])
    value = program(tn.variable([3.0, 4.0]), y)
    y[0] = 9.0
    with pytest.raises(RuntimeError, match=r"a compiled function saved .* modified in place"):
        value.backward()
    value = program(tn.variable([3.0, 4.0]), y)
    value.backward()
    with pytest.raises(RuntimeError, match="saved values of a compiled function are gone"):
        value.backward()


def test_python_asks_a_traced_value_for_its_number(random):
    def f(x):
        if x.sum() > 0:
            return x
        return -x

    with pytest.raises(TracingError, match=r"test_compile.py:\d+: bool: .*tn.where"):
        tn.compile(f)(random(3))
    equal(tn.compile(lambda x: x + 1.0)(tn.ones(1)), [2.0])  # levels are closed


def test_an_escaped_value_is_refused(random):
    held = []
    tn.compile(lambda x: held.append(x) or x)(random(2))
    with pytest.raises(TracingError, match="escaped"):
        held[0] + 1.0


def test_errors_name_the_line():
    def f(a, b):
        return tn.linalg.solve(a, b)

    program = tn.compile(f)
    program(tn.eye(3), tn.ones(3))
    line = f.__code__.co_firstlineno + 1
    with pytest.raises(LinAlgError, match=rf"linalg.solve: a is singular.*at .*test_compile.py:{line}\."):
        program(tn.ones((3, 3)), tn.ones(3))


def test_warnings_come_from_the_line():
    def f(a):
        w, v = tn.linalg.eigh(a)
        return (v * w).sum() ** 2 + v[0, 1]

    program = tn.compile(tn.grad(f))
    program(tn.asarray(np.diag([1.0, 2.0, 3.0])))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tn.grad(f)(tn.eye(3))
        program(tn.eye(3))
    eager, compiled = [w for w in caught if w.category is DegenerateSpectrumWarning]
    assert str(eager.message) == str(compiled.message)
    assert compiled.filename == __file__ and compiled.lineno == f.__code__.co_firstlineno + 1


def test_wrong_shapes_are_eagers_errors(random):
    program = tn.compile(lambda a, b: a @ b)
    program(random(2, 3), random(3, 2))
    with pytest.raises(ValueError, match="matmul"):
        program(random(2, 3), random(4, 2))


def test_prepared_calls(random):
    program = tn.compile(lambda x, y: (x @ y, x.sum()))
    call = program.prepare(random(2, 3), random(3, 4))
    x, y = random(2, 3), random(3, 4)
    into = (tn.empty((2, 4)), tn.empty(()))
    got = call(x, y, into=into)
    assert got is into
    equal(into[0], x @ y)
    equal(call(x, y)[0], x @ y)
    with pytest.raises(ValueError, match=r"operand 1 must be of float64 and shape \(3, 4\), got"):
        call(x, random(3, 5))
    with pytest.raises(ValueError, match="output 0 is of float64 and shape"):
        call(x, y, into=(tn.empty((4, 2)), tn.empty(())))
    assert "dot_general" in str(call)


def test_programs_pickle(random):
    a, b = random(4, 4), random(4, 2)
    program = tn.compile(lambda a, b: tn.linalg.solve(a, b)).prepare(a, b).program
    again = pickle.loads(pickle.dumps(program))
    assert again is not program and str(again) == str(program)
    equal(again.executable([a, b])[0], program.executable([a, b])[0])


@tn.compile
def decorated(x, y):
    return {"product": x * y, "sum": x + y}


def power(x, k):
    return x**k


def scaled(w, x):
    return (w * x).sum()


def test_compiled_functions_pickle_by_reference(random):
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    x = random(3)
    static = pickle.loads(pickle.dumps(tn.compile(power, static_argnames="k")))
    equal(static(x, 2), x * x)
    partial = pickle.loads(pickle.dumps(tn.compile(functools.partial(scaled, x))))
    equal(partial(x), (x * x).sum())
    for f in (lambda x: x, functools.partial(lambda w, x: w * x, x)):
        with pytest.raises((pickle.PicklingError, AttributeError), match="<lambda>"):
            pickle.dumps(tn.compile(f))


def test_prepared_calls_pickle(random):
    x, w = random(3), random(3)
    named = tn.compile(lambda x, k: (w * x) ** k, static_argnames="k").prepare(x, k=2)
    tree = tn.compile(lambda d: d["a"] - d["b"]).prepare({"a": x, "b": w})
    plain = tn.compile(lambda x: tn.exp(x).sum()).prepare(x)
    again = pickle.loads(pickle.dumps([named, tree, plain]))
    equal(again[0](x, k=2), named(x, k=2))
    equal(again[1]({"a": w, "b": x}), w - x)
    equal(again[2](w), plain(w))
    with pytest.raises(TypeError, match="what the call was prepared for"):
        again[0](x, k=3)
    with pytest.raises(ValueError, match=r"operand 0 must be of float64 and shape \(3,\)"):
        again[2](random(4))


def test_pickles_run_in_another_process(tmp_path, random):
    (tmp_path / "functions.py").write_text(
        "import taenite as tn\n@tn.compile\ndef f(x, y):\n    return x @ y, x.sum()\n"
        "def g(x):\n    return x.T\n"
    )
    path, x, y = tmp_path / "calls", random(3, 4), random(4, 2)
    write = f"""
import pickle, functions, taenite as tn
x, y = pickle.load(open({str(path)!r}, "rb"))
calls = (functions.f, tn.compile(functions.g), functions.f.prepare(x, y))
pickle.dump((x, y, functions.f(x, y), calls), open({str(path)!r}, "wb"))
"""
    read = f"""
import pickle
x, y, want, (f, g, prepared) = pickle.load(open({str(path)!r}, "rb"))
for got in (f(x, y), prepared(x, y)):
    assert [t.tolist() for t in got] == [t.tolist() for t in want]
assert g(x).tolist() == x.T.tolist() and f.stats.traces == 1
"""
    path.write_bytes(pickle.dumps((x, y)))
    for script in (write, read):
        subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)


def test_observers_see_instructions(random):
    program = tn.compile(lambda x: tn.linalg.svdvals(x @ x).sum())
    x = random(4, 4)
    program(x)
    with tn.observe() as calls:
        program(x)
        program(x)
    found = {i.primitive: i for i in calls.instructions}
    assert set(found) == {"dot_general", "svd", "sum"}
    assert found["svd"].runs == 2 and found["svd"].seconds > 0
    assert found["svd"].line.startswith(__file__)


def test_threads_share_a_program():
    program = tn.compile(tn.value_and_grad(lambda a: (a @ a).sum()))
    wrong = []

    def work(n):
        a = tn.ones((n, n))
        for _ in range(50):
            value, g = program(a)
            if value.item() != n**3 or g[0, 0].item() != 2 * n:
                wrong.append(n)

    workers = [threading.Thread(target=work, args=(n,)) for n in (3, 40, 200, 5)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    assert not wrong


def test_methods_and_decorators():
    class Model:
        @tn.compile
        def apply(self, x):
            return x * self.scale

        scale = 3.0

        def __hash__(self):
            return 7

        def __eq__(self, other):
            return isinstance(other, Model)

    equal(Model().apply(tn.ones(2)), [3.0, 3.0])

    @tn.compile(static_argnames=("n",))
    def power(x, n):
        """A power."""
        return x**n

    assert power.__doc__ == "A power." and power.__name__ == "power"
    equal(power(tn.asarray([2.0]), n=3), [8.0])


def test_returns_of_another_kind_are_refused():
    with pytest.raises(TypeError, match="must return tensors, got str"):
        tn.compile(lambda x: "x")(tn.ones(1))


def test_empty_operands():
    program = tn.compile(tn.value_and_grad(lambda x: (x * x).sum()))
    value, g = program(tn.ones(3))
    value, g = program(tn.ones(0))
    assert value.item() == 0.0 and g.shape == (0,)


def test_no_grad_does_not_record():
    program = tn.compile(lambda x: x * x)
    with tn.no_grad():
        y = program(tn.variable([1.0]))
    assert not y.requires_grad


def test_memory_returns_to_the_pool(random):
    program = tn.compile(tn.grad(lambda a: tn.linalg.inv(a).sum()))
    a = tn.variable(random(30, 30))
    compiled = tn.compile(lambda a: tn.linalg.inv(a).sum())
    program(a.detach()), compiled(a).backward()
    a.grad = None
    before = tn.pool.stats()["bytes_in_use"]
    for _ in range(3):
        program(a.detach())
        compiled(a).backward()
        a.grad = None
    assert tn.pool.stats()["bytes_in_use"] == before


def test_offsets_of_slices_follow_the_size_backward_too(random):
    """A start that depends on the size is an expression in the pullback as well."""

    def f(x):
        n = x.shape[0]
        return (x[n - 2 :] ** 2).sum() + (x[: n // 2] ** 3).sum() + x[-1]

    program = tn.compile(tn.grad(f))
    for n in (8, 12, 5, 4, 3):
        x = random(n)
        np.testing.assert_allclose(np.asarray(program(x)), np.asarray(tn.grad(f)(x)), rtol=1e-13)
    assert program.stats.traces == 1


FUNCTIONS_OF_A_SQUARE_MATRIX = {
    "qr": lambda a: tn.linalg.qr(a)[1].sum(),
    "svd": lambda a: tn.linalg.svdvals(a).sum(),
    "eigh": lambda a: tn.linalg.eigh(a + a.mT)[0].sum(),
    "lu": lambda a: tn.linalg.lu(a)[1].sum() + tn.linalg.lu(a)[2].sum(),
    "cholesky": lambda a: tn.linalg.cholesky(a @ a.mT + tn.eye(a.shape[0])).sum(),
    "slogdet": lambda a: tn.linalg.slogdet(a)[1],
    "inv": lambda a: tn.linalg.inv(a).sum(),
    "variance": lambda a: ((a - a.mean(axis=1, keepdims=True)) ** 2).mean(),
    "einsum": lambda a: tn.einsum("ij,jk,ki->", a, a, a),
    "concat": lambda a: tn.concat([a, a.mT], axis=0).max(axis=0).sum(),
    "strided": lambda a: (a.reshape(-1)[::2] ** 2).sum(),
    "stack": lambda a: tn.stack([a, a * 2]).prod(axis=0).sum(),
    "reversed": lambda a: (a[::-1] * a).sum(),
    "where": lambda a: tn.where(a > 0, a, 0.1 * a).sum(),
    "outer": lambda a: (a[:, None, :] * a[None, :, :]).sum(),
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_A_SQUARE_MATRIX)
def test_gradients_at_three_sizes_from_one_trace(name, random):
    f = FUNCTIONS_OF_A_SQUARE_MATRIX[name]
    program = tn.compile(tn.value_and_grad(f))
    for n in (4, 7, 5):
        a = random(n, n)
        value, gradient = program(a)
        want, wanted = tn.value_and_grad(f)(a)
        np.testing.assert_allclose(value.item(), want.item(), rtol=1e-11)
        np.testing.assert_allclose(np.asarray(gradient), np.asarray(wanted), rtol=1e-8, atol=1e-9)
    assert program.stats.traces == 1


def test_outputs_are_fresh():
    """Equal outputs and constants are tensors of their own: writing to one changes nothing else."""
    program = tn.compile(lambda x: (x + 1.0, x + 1.0, tn.ones(2)))
    first, second, ones = program(tn.zeros(2))
    first[0], ones[0] = 9.0, 9.0
    equal(second, [1.0, 1.0])
    equal(program(tn.zeros(2))[2], [1.0, 1.0])


def peak_bytes(f, x):
    f(x)
    tn.pool.reset_peak()
    before = tn.pool.stats()["bytes_in_use"]
    y = f(x)
    peak = tn.pool.stats()["peak_bytes_in_use"] - before
    del y
    return peak


@pytest.mark.parametrize(
    "f, tensors",
    [
        (lambda x: tn.exp(x @ x), 2.25),  # the product packs one operand and an eighth of the other
        (lambda x: (x @ x) * x + 1.0, 2.25),
        (lambda x: tn.exp(-((x * 2.0 + 1.0) ** 2)).sum(), 0),
        (tn.grad(lambda x: tn.exp(-((x * 2.0 + 1.0) ** 2)).sum()), 1),
        (tn.value_and_grad(lambda x: ((x * x + x) * x + x * x).sum()), 1),
    ],
)
def test_memory_is_outputs_and_tiles(f, tensors, random):
    """What dies is written over; what stays inside a group is never written out."""
    n = 512
    assert peak_bytes(tn.compile(f), random(n, n)) <= 8 * n * n * tensors + 2**17


def test_what_is_read_again_is_not_written_over(random):
    def f(x):
        z = x @ x
        return z * z, z + 1.0, tn.exp(z) @ z

    x = random(40, 40)
    program = tn.compile(f)
    for got, want in zip(program(x), f(x), strict=True):
        equal(got, want)
    y = x.copy()
    equal(tn.compile(lambda x: (x * 2.0 + 1.0) * x)(y), (x * 2.0 + 1.0) * x)
    equal(x, y)  # operands are never written over


def test_stop_gradient_holds_in_and_around_a_program(random):
    def f(x):
        return (x * tn.stop_gradient(x * x)).sum()

    x, t = random(3), random(3)
    equal(tn.compile(tn.grad(f))(x), x * x)
    equal(tn.grad(tn.compile(f))(x), x * x)
    equal(tn.grad(tn.compile(lambda x: (x * (x * x).detach()).sum()))(x), x * x)
    equal(tn.jvp(tn.compile(f), (x,), (t,))[1], tn.jvp(f, (x,), (t,))[1])


def test_no_grad_inside_stops_derivatives_from_outside():
    def f(x):
        with tn.no_grad():
            constant = tn.exp(x)
            inner = tn.grad(lambda y: y * y * x)(3.0)
        return (x * constant).sum() + inner

    x = tn.asarray(0.5)
    program = tn.compile(f)
    np.testing.assert_allclose(tn.grad(program)(x).item(), tn.grad(f)(x).item(), rtol=1e-14)
    np.testing.assert_allclose(tn.compile(tn.grad(f))(x).item(), tn.grad(f)(x).item(), rtol=1e-14)


def test_programs_that_made_room_are_gone():
    program = tn.compile(lambda x: x * len(range(x.shape[0])))
    for n in range(1, 12):
        program(tn.ones(n))
    assert len(program.programs) == program.stats.programs == 8


def test_signatures_tell_ranks_apart(random):
    """(2, 3), (4,) and (2,), (3, 4) are other shapes, though their dimensions read the same."""
    x, y = random(2, 3), random(4)
    sizes = tn.compile(lambda a, b: (a.sum(), b.sum()))
    for a, b in [
        (x, y),
        (random(2), random(3, 4)),
        (tn.asarray(1.0), random(5)),
        (random(5), tn.asarray(1.0)),
    ]:
        for got, want in zip(sizes(a, b), (a.sum(), b.sum()), strict=True):
            np.testing.assert_allclose(got.item(), want.item(), rtol=1e-14)
    assert sizes.stats.traces == 4
