"""What `cond` promises: one side runs, forward and backward, at every order; the other leaves no trace."""

import itertools
import pickle
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import taenite as tn
from taenite.errors import DegenerateSpectrumWarning, LinAlgError, TracingError
from taenite.graph.check import check
from taenite.graph.show import show

SIZES = (3, 4, 9)


def close(got, want, rtol=1e-12):
    got, want = tn.tree.flatten(got)[0], tn.tree.flatten(want)[0]
    for g, w in zip(got, want, strict=True):
        g, w = np.asarray(g), np.asarray(w)
        assert g.shape == w.shape and g.dtype == w.dtype
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol)


def chosen(x, y):
    """Depends on both operands on one side, on one of them on the other, and closes over one."""

    def yes(a):
        return (tn.exp(a) * y.sum()).sum()

    def no(a):
        return (a * a * a).mean()

    return tn.cond(x.sum() > 0, yes, no, x)


def both_ways(random, n):
    x = tn.abs(random(n))
    return [(x, random(2 * n)), (-x, random(2 * n))]


# ---- values


def test_eager_calls_the_side_that_is_chosen(random):
    def never(*_):
        raise AssertionError

    x = random(3)
    assert tn.cond(True, lambda a: a, never, x) is x
    assert tn.cond(np.bool_(False), never, lambda a: a, x) is x
    assert tn.cond(tn.asarray([[False]]), never, lambda a, b: (a, b), x, "static") == (x, "static")
    assert tn.cond(x.sum() < np.inf, lambda: 1, never) == 1


def test_one_program_serves_both_sides_at_every_size(random):
    program = tn.compile(chosen)
    for n in SIZES:
        for x, y in both_ways(random, n):
            close(program(x, y), chosen(x, y))
    assert program.stats.traces == 1


def test_only_the_chosen_side_runs():
    def f(a, p):
        return tn.cond(p, lambda a: tn.linalg.inv(a).sum(), lambda a: tn.linalg.cholesky(a).sum(), a)

    a = tn.asarray(np.eye(80) * 2)  # larger than what is factored without LAPACK
    for program in (tn.compile(f), tn.compile(tn.grad(f)), tn.grad(tn.compile(f))):
        for p, runs, rests in ((True, "getrf", "potrf"), (False, "potrf", "getrf")):
            p = tn.asarray(p)
            program(a, p)
            with tn.observe() as calls:
                program(a, p)
            assert calls.counts.get(runs, 0) >= 1
            assert calls.counts.get(rests, 0) == 0


def test_errors_of_the_other_side_do_not_appear():
    def f(a):
        return tn.cond((a > 0).all(), lambda a: a.sum(), lambda a: tn.linalg.cholesky(a - 5).sum(), a)

    program, gradient = tn.compile(f), tn.compile(tn.grad(f))
    a = tn.ones((2, 2))
    assert program(a).item() == 4
    close(gradient(a), tn.ones((2, 2)))
    for call in (program, gradient):
        with pytest.raises(LinAlgError):
            call(-a)


UNSAFE = {
    "sqrt": lambda a: tn.sqrt(a).sum(),
    "log": lambda a: tn.log(a).sum(),
    "divide": lambda a: (1 / (tn.abs(a) + a)).sum(),
}


@pytest.mark.parametrize("unsafe", UNSAFE.values(), ids=UNSAFE)
@pytest.mark.parametrize("closes_over", [False, True])
def test_nan_of_the_other_side_does_not_appear(unsafe, closes_over):
    """Also where the branch works on closed-over values alone."""

    def f(x):
        safe, operands = (lambda a: (a * a).sum()), (x,)
        if closes_over:
            return tn.cond((x > 0).all(), lambda: unsafe(x), lambda: safe(x))
        return tn.cond((x > 0).all(), unsafe, safe, *operands)

    x, t = tn.asarray([-1.0, -2.0]), tn.asarray([1.0, 3.0])
    for program in (tn.compile(tn.value_and_grad(f)), tn.value_and_grad(tn.compile(f))):
        close(program(x), (tn.asarray(5.0), 2 * x))
        close(program(-x), tn.value_and_grad(f)(-x))
    for program in (
        tn.compile(lambda x, t: tn.jvp(f, (x,), (t,))),
        lambda x, t: tn.jvp(tn.compile(f), (x,), (t,)),
    ):
        close(program(x, t), (tn.asarray(5.0), tn.asarray(-14.0)))
    close(tn.compile(lambda x, t: tn.jvp(tn.grad(f), (x,), (t,)))(x, t), (2 * x, 2 * t))


# ---- derivatives


def transforms(random, f, x, y):
    """Of every order, inside of the program and outside."""
    t = random(*x.shape), random(*y.shape)
    both = (0, 1)

    def jvp_of(g):
        return lambda x, y, *t: tn.jvp(g, (x, y), t)

    def squared(g):
        return lambda x, y: sum((d * d).sum() for d in tn.grad(g, both)(x, y))

    compiled = tn.compile(f)
    yield "grad", tn.compile(tn.grad(f, both)), tn.grad(compiled, both), tn.grad(f, both), ()
    yield "jvp", tn.compile(jvp_of(f)), jvp_of(compiled), jvp_of(f), t
    hvps = [jvp_of(tn.grad(g, both)) for g in (f, compiled)]
    yield "hvp", tn.compile(hvps[0]), hvps[1], hvps[0], t
    second = [tn.grad(squared(g), both) for g in (f, compiled)]
    yield "grad of grad", tn.compile(second[0]), second[1], second[0], ()
    reverse = [tn.grad(lambda x, y, g=g: tn.jvp(g, (x, y), t)[1], both) for g in (f, compiled)]
    yield "grad of jvp", tn.compile(reverse[0]), reverse[1], reverse[0], ()


@pytest.mark.parametrize("n", SIZES)
def test_derivatives_of_every_order_are_eager_ones(n, random):
    for x, y in both_ways(random, n):
        for _, inside, outside, want, more in transforms(random, chosen, x, y):
            close(inside(x, y, *more), want(x, y, *more), 1e-11)
            close(outside(x, y, *more), want(x, y, *more), 1e-11)


def test_derivatives_serve_every_size(random):
    program = tn.compile(tn.grad(chosen, (0, 1)))
    hvp = tn.compile(lambda x, y, t: tn.jvp(tn.grad(chosen), (x, y), (t, y)))
    for n in SIZES:
        for x, y in both_ways(random, n):
            close(program(x, y), tn.grad(chosen, (0, 1))(x, y))
            close(hvp(x, y, x), tn.jvp(tn.grad(chosen), (x, y), (x, y)))
    assert program.stats.traces == hvp.stats.traces == 1


def test_a_rule_makes_another_pullback_where_the_first_does_not_serve(random):
    """The rule of a compiled cond is traced once; svd's derivative differs for wide and tall matrices."""

    def f(a, p):
        return tn.cond(
            p, lambda a: tn.linalg.svd(a, full_matrices=False)[1].sum(), lambda a: (a * a).sum(), a
        )

    program, p = tn.compile(f), tn.asarray(True)
    for shape in [(5, 3), (3, 5), (4, 4), (7, 2)]:
        a = random(*shape)
        close(tn.grad(program)(a, p), tn.grad(f)(a, p), 1e-11)
        close(tn.compile(tn.grad(f))(a, p), tn.grad(f)(a, p), 1e-11)


def test_at_most_eight_variants_of_a_branch_are_kept(random):
    """Sixteen derivatives, for four matrices that are wide or tall; those that made room are made again."""

    def f(p, *matrices):
        return tn.cond(p, lambda: sum(tn.linalg.svdvals(a).sum() for a in matrices), lambda: 0.0)

    program, p = tn.compile(tn.grad(f, (1, 2, 3, 4))), tn.asarray(True)
    for _ in range(2):
        for shapes in itertools.product([(3, 2), (2, 3)], repeat=4):
            matrices = [random(*shape) for shape in shapes]
            close(program(p, *matrices), tn.grad(f, (1, 2, 3, 4))(p, *matrices), 1e-11)
    assert program.stats.traces == 1 and program.stats.branches == 8 + 1


def test_a_size_may_be_returned():
    @tn.compile
    def rows(x):
        return tn.cond(x.sum() > 0, lambda: (x.shape[0], x.sum()), lambda: (2 * x.shape[0], 0.0))

    for n in SIZES:
        assert [y.item() for y in rows(tn.ones(n))] == [n, n]
        assert [y.item() for y in rows(-tn.ones(n))] == [2 * n, 0]
    assert rows.stats.traces == 1


def test_vjp_inside_of_a_program(random):
    def f(x, y, ct):
        value, pullback = tn.vjp(lambda x, y: (chosen(x, y), chosen(y, x)), x, y)
        return value, pullback((ct, 2 * ct)), pullback((2 * ct, ct))

    for x, y in both_ways(random, 4):
        close(tn.compile(f)(x, y, 1.5), f(x, y, 1.5))


def test_stop_gradient_in_a_branch():
    def f(x):
        return tn.cond(
            x.sum() > 0, lambda: (x * tn.stop_gradient(x)).sum(), lambda: tn.stop_gradient(x).sum()
        )

    for x in (tn.ones(3), -tn.ones(3)):
        close(tn.compile(tn.grad(f))(x), tn.grad(f)(x))
        close(tn.grad(tn.compile(f))(x), tn.grad(f)(x))


def test_complex_operands(rng):
    def f(z):
        return tn.cond(z.real.sum() > 0, lambda z: (z * z * z).real.sum(), lambda z: tn.abs(z * z).sum(), z)

    for sign in (1, -1):
        z = tn.asarray(sign * (np.abs(rng.standard_normal(4)) + 1j * rng.standard_normal(4)))
        close(tn.compile(tn.grad(f))(z), tn.grad(f)(z))
        close(tn.grad(tn.compile(f))(z), tn.grad(f)(z))


def test_many_gradients(random):
    """More than the primitive has outputs."""

    def f(*xs):
        return tn.cond(
            xs[0].sum() > 0, lambda *a: tn.prod(tn.stack(a)), lambda *a: sum(x.sum() for x in a), *xs
        )

    xs = [tn.abs(random()) for _ in range(15)]
    for x0 in (xs[0], -xs[0]):
        args, which = (x0, *xs[1:]), tuple(range(15))
        close(tn.compile(tn.grad(f, which))(*args), tn.grad(f, which)(*args))
        close(tn.grad(tn.compile(f), which)(*args), tn.grad(f, which)(*args))


def test_an_operand_that_a_side_ignores_has_no_gradient_from_it():
    def f(x, y):
        return tn.cond(x.sum() > 0, lambda x, y: x.sum(), lambda x, y: y.sum(), x, y)

    x, y = tn.ones(3), tn.ones(4)
    close(tn.compile(tn.grad(f, (0, 1)))(x, y), (tn.ones(3), tn.zeros(4)))
    close(tn.compile(tn.grad(f, (0, 1)))(-x, y), (tn.zeros(3), tn.ones(4)))


# ---- what is closed over


def test_closures_over_operands_sizes_and_data(random):
    data = random(20)

    def f(x, p):
        n, double = x.shape[0], 2 * x

        def yes(a):
            return (a[: n - 1] * double[1:]).sum() * tn.ones(n).sum() + data.sum()

        return tn.cond(p, yes, lambda a: double.sum() * tn.ones(n).sum(), x)

    program, gradient = tn.compile(f), tn.compile(tn.grad(f))
    for n in SIZES:
        for p in (tn.asarray(True), tn.asarray(False)):
            x = random(n)
            close(program(x, p), f(x, p))
            close(gradient(x, p), tn.grad(f)(x, p))
    assert program.stats.traces == gradient.stats.traces == 1


def test_closures_over_variables_and_other_transforms():
    w = tn.variable(tn.asarray([1.0, 2.0]))

    @tn.compile
    def program(x):
        return tn.cond(x.sum() > 0, lambda: (w * x).sum(), lambda: (w * w).sum())

    for x, want in ((tn.ones(2), [1, 1]), (-tn.ones(2), [2, 4])):
        w.grad = None
        program(x).backward()
        assert w.grad.tolist() == want

    def outer(v):
        return tn.compile(lambda x: tn.cond(x.sum() > 0, lambda: (v * x).sum(), lambda: (v * v).sum()))(
            -tn.ones(2)
        )

    assert tn.grad(outer)(tn.asarray([1.0, 2.0])).tolist() == [2, 4]


def test_a_compiled_function_reads_variables_when_it_runs():
    """What it computes from them alone belongs to the program."""
    w = tn.variable(tn.asarray(2.0))
    program = tn.compile(lambda x: x * tn.exp(w))
    for value in (2.0, 3.0):
        with tn.no_grad():
            w[...] = value
        w.grad = None
        y = program(tn.asarray(1.0))
        y.backward()
        assert y.item() == w.grad.item() == pytest.approx(np.exp(value), rel=1e-15)


def test_nesting(random):
    def f(x, y):
        def inner(a):
            return tn.cond(y.sum() > 0, lambda a: tn.sin(a * y.sum()), lambda a: tn.sqrt(a * x.sum()), a)

        return tn.cond(x.sum() > 0, inner, lambda a: tn.cond(a[0] > -1, tn.cos, tn.exp, a), x).sum()

    for x, _ in [*both_ways(random, 3), *both_ways(random, 5)]:
        for y in (tn.ones(2), -tn.ones(2)):
            for _, inside, outside, want, more in transforms(random, f, x, y):
                close(inside(x, y, *more), want(x, y, *more), 1e-10)
                close(outside(x, y, *more), want(x, y, *more), 1e-10)


def test_compiled_functions_inside(random):
    double = tn.compile(lambda a: 2 * a)

    def f(x, y):
        return tn.cond(x.sum() > 0, lambda: double(x * y).sum(), lambda: double(y).sum())

    for sign in (1, -1):
        x, y = sign * tn.ones(3), random(3)
        close(tn.compile(f)(x, y), f(x, y))
        close(tn.compile(tn.grad(f, (0, 1)))(x, y), tn.grad(f, (0, 1))(x, y))


# ---- trees


def test_trees(random):
    def f(state, p):
        def step(s, by, name):
            assert name == "step"
            return {"x": s["x"] + by, "n": s["n"] + 1, "more": (None, s["x"].sum())}

        def stay(s, by, name):
            return {"x": s["x"], "n": s["n"], "more": (None, by)}

        return tn.cond(p, step, stay, state, 1.0, "step")

    state = {"x": random(3), "n": tn.asarray(3)}
    for p in (tn.asarray(True), tn.asarray(False)):
        got, want = tn.compile(f)(state, p), f(state, p)
        assert got["more"][0] is None and got["n"].dtype is tn.int64
        close(got["x"], want["x"])
        close(got["n"], want["n"])
        close(got["more"][1], tn.asarray(want["more"][1]))


def test_outputs_that_are_operands_or_constants(random):
    zero = tn.zeros(3)
    program = tn.compile(lambda x, p: tn.cond(p, lambda x: (x, x), lambda x: (zero, x), x))
    x = random(3)
    close(program(x, tn.asarray(True)), (x, x))
    close(program(x, tn.asarray(False)), (zero, x))
    close(tn.compile(tn.grad(lambda x, p: sum(program(x, p)).sum()))(x, tn.asarray(False)), tn.ones(3))


# ---- programs


def test_a_program_pickles(random):
    program = tn.compile(tn.value_and_grad(chosen))
    cases = [case for n in SIZES for case in both_ways(random, n)]
    program(*cases[0])
    loaded = pickle.loads(pickle.dumps(program.programs[0]))
    check(loaded.graph)
    for x, y in cases:
        close(loaded.unflatten(loaded.executable([x, y])), program(x, y), 0)
        close(
            tn.jvp(lambda x, y: loaded.executable([x, y])[0], (x, y), (x, y)), tn.jvp(chosen, (x, y), (x, y))
        )


def test_a_program_pickles_into_another_process(tmp_path, random):
    program = tn.compile(chosen)
    (x, y), _ = both_ways(random, 3)
    program(x, y)
    path = tmp_path / "program"
    path.write_bytes(pickle.dumps((program.programs[0], x, y, program(x, y))))
    code = f"""
import pickle, taenite as tn
program, x, y, want = pickle.load(open({str(path)!r}, "rb"))
assert program.executable([x, y])[0].item() == want.item()
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0 and not run.stderr, run.stderr


def test_a_program_prints_its_branches(random):
    program = tn.compile(chosen)
    program(*both_ways(random, 3)[0])
    text = str(program.programs[0])
    assert re.search(r"\n    true\(%0.*\n(      .*\n)*      .*exp\(.*\n", text)
    assert re.search(r"\n    false\(%0.*\n(      .*\n)*      return ", text)


def test_check_looks_into_branches(random):
    program = tn.compile(chosen)
    program(*both_ways(random, 3)[0])
    graph = program.programs[0].graph
    check(graph)
    at, call = next((k, i) for k, i in enumerate(graph.instructions) if i.branches)
    (traced, branch), other = call.branches
    broken = replace(call, branches=((traced, replace(branch, outputs=(branch.n_inputs + 90,))), other))
    instructions = (*graph.instructions[:at], broken, *graph.instructions[at + 1 :])
    with pytest.raises(ValueError, match="in a branch, an output must be written"):
        check(replace(graph, instructions=instructions))
    assert show(graph)


def test_what_nobody_reads_is_not_run():
    def f(x):
        tn.cond(x.sum() > 0, lambda: tn.linalg.inv(x), lambda: x)
        return x.sum()

    program = tn.compile(f)
    program(tn.eye(3))
    assert not any(i.branches for i in program.programs[0].graph.instructions)


def test_effects_in_branches_stay():
    """A warning of a derivative that is taken inside of a branch, whose numbers nobody reads."""

    def loss(a):
        w, v = tn.linalg.eigh(a)
        return (v * w).sum() ** 2 + v[0, 1]

    def f(a):
        tn.cond(a.sum() > 0, lambda: tn.grad(loss)(a), lambda: a)
        return a.sum()

    program = tn.compile(f)
    with pytest.warns(DegenerateSpectrumWarning):
        assert program(tn.eye(3)).item() == 3
    assert program(-tn.eye(3)).item() == -3


def test_an_error_in_a_branch_names_its_line_once():
    def f(a):
        return tn.cond(a.sum() > 0, lambda: tn.linalg.cholesky(a - 5), lambda: a)

    program = tn.compile(f)
    program(-tn.eye(2))
    with pytest.raises(LinAlgError) as caught:
        program(tn.eye(2))
    assert str(caught.value).count(f"{__file__}:{f.__code__.co_firstlineno + 1}") == 1


# ---- errors


@pytest.mark.parametrize("pred, error, message", [
    (1, TypeError, "pred must be a bool or a bool tensor, got int"),
    (None, TypeError, "got NoneType"),
    (tn.asarray(1.0), TypeError, "pred must be of dtype bool, got float64"),
    (tn.asarray([True, False]), ValueError, r"pred must have one element, got shape \(2,\)"),
])  # fmt: skip
def test_pred_is_one_bool(pred, error, message):
    with pytest.raises(error, match=message):
        tn.cond(pred, lambda: 0, lambda: 1)


@pytest.mark.parametrize("yes, no, error, message", [
    (lambda x: x, lambda x: (x,), TypeError, "same structure"),
    (lambda x: x, lambda x: x > 0, TypeError, r"got f64\[3\] and bool\[3\]"),
    (lambda x: {"a": x}, lambda x: {"a": x.sum()}, ValueError, r"f64\[3\] and f64\[\] for output \['a'\]"),
    (lambda x: "x", lambda x: x, TypeError, "true_fn must return tensors, got str"),
    (lambda x: x, lambda x: object(), TypeError, "false_fn must return tensors, got object"),
    (lambda x: (x,) * 7, lambda x: (x,) * 7, ValueError, "at most 6 tensors, got 7"),
])  # fmt: skip
def test_sides_return_the_same(yes, no, error, message):
    program = tn.compile(lambda x: tn.cond(x.sum() > 0, yes, no, x))
    with pytest.raises(error, match=message):
        program(tn.ones(3))


def test_shapes_that_agree_at_one_size_only():
    program = tn.compile(lambda x, y: tn.cond(x.sum() > 0, lambda: x, lambda: y))
    close(program(tn.ones(3), tn.ones(3)), tn.ones(3))
    with pytest.raises(ValueError, match="same dtypes and shapes"):
        program(tn.ones(3), tn.ones(4))


def test_traced_pred_of_several_elements():
    program = tn.compile(lambda x: tn.cond(x > 0, lambda: x, lambda: -x))
    close(program(-tn.ones(1)), tn.ones(1))
    with pytest.raises(ValueError, match="one element, got shape"):
        program(tn.ones(3))


def test_too_many_operands():
    program = tn.compile(lambda *xs: tn.cond(xs[0] > 0, lambda: sum(xs), lambda: xs[0]))
    with pytest.raises(ValueError, match="cotangents must be at most 31, got 32; stack"):
        program(*[tn.asarray(1.0)] * 32)


def test_an_escaped_value_is_an_error():
    kept = []

    def f(x):
        tn.cond(x.sum() > 0, lambda a: kept.append(a) or a, lambda a: a, x)
        return x + kept[0]

    with pytest.raises(TracingError, match="escaped"):
        tn.compile(f)(tn.ones(3))


def test_advice_names_cond():
    with pytest.raises(TracingError, match=r"tn\.cond"):
        tn.compile(lambda x: x if x.sum() > 0 else -x)(tn.ones(3))
