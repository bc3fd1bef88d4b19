"""Groups of elementwise operations, run tile by tile: the bits of eager execution at any size and layout."""

import numpy as np
import pytest

import taenite as tn
from taenite import _core

SMALLEST_TILE = 256
SIZES = (1, 3, 511, 512, 513, 100_000)
UNARY = (
    *("negative", "abs", "sign", "square", "sqrt", "exp", "log", "sin", "tanh", "floor"),
    *("conj", "real", "imag", "isnan", "isfinite", "logical_not"),
)
BINARY = (
    *("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "atan2", "maximum"),
    *("minimum", "hypot", "copysign", "logaddexp", "logical_and", "bitwise_xor"),
    *("equal", "not_equal", "less", "greater_equal"),
)
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "sum_to")
DTYPES = tuple(np.dtype(t) for t in ("f8", "f4", "c16", "c8", "i8", "i4", "u1", "?"))
TABLE = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")
CODES = {np.dtype(t): i for i, t in enumerate(TABLE)}


def eager(examples, calls):
    """The value of every register."""
    values = list(examples)
    for name, attrs, operands, sizes in calls:
        numbers = tuple(n if isinstance(n, int) else values[n[0]].shape[n[1]] for n in sizes)
        at = tuple(values[r] for r in operands)
        values.append(_core.bind(_core.primitive(name), at, attrs, numbers))
    return values


def tiled(examples, calls, outputs, operands=None):
    """The values of the outputs, all of which one group must give, or None where it declines to run."""
    group = _core.tile_group(list(examples), calls, list(outputs))
    assert group is not None
    assert group.n_steps == len(calls), calls[group.n_steps]
    assert sorted(group.outputs) == sorted(outputs)
    given = group.run([(operands or examples)[r] for r in group.inputs])
    if given is None:
        return None
    found = dict(zip(group.outputs, given, strict=True))
    return [found[r] for r in outputs]


def bits(t):
    a = np.asarray(t)
    if a.dtype.kind in "fc":  # which NaN it is depends on the order of operands
        a = np.where(np.isnan(a), np.asarray(np.nan, a.dtype), a)
    return a.dtype, a.shape, a.tobytes()


def array(rng, shape, dtype):
    a = 2 * rng.standard_normal(shape)
    if dtype.kind == "c":
        a = a + 1j * rng.standard_normal(shape)
    return (a > 0).astype(dtype) if dtype.kind == "b" else (abs(a) if dtype.kind == "u" else a).astype(dtype)


class Dag:
    """Random calls on vectors and scalars of random dtypes, none of which raises in eager execution."""

    def __init__(self, seed, shape, n_calls):
        self.rng = rng = np.random.default_rng(seed)
        dtypes = rng.choice(len(DTYPES), 4, p=[0.35, 0.15, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05])
        shapes = [shape, shape, (), ()]
        self.values = [tn.asarray(array(rng, s, DTYPES[t])) for s, t in zip(shapes, dtypes, strict=True)]
        self.examples = tuple(self.values)
        self.calls = []
        self.reduced = set()  # registers that depend on a reduction
        with np.errstate(all="ignore"):
            while len(self.calls) < n_calls:
                self.try_call()

    def try_call(self):
        call = self.random_call()
        late = {r for r in call[2] if r in self.reduced}
        if late and any(self.values[r].ndim for r in call[2]):
            return
        try:
            y = eager(self.values, [call])[-1]
        except (TypeError, ValueError):
            return
        if late or call[0] in REDUCTIONS:
            self.reduced.add(len(self.values))
        self.values.append(y)
        self.calls.append(call)

    def random_call(self):
        rng, n = self.rng, len(self.values)
        a, b, c = (int(r) for r in rng.integers(max(0, n - 6) if rng.random() < 0.7 else 0, n, 3))
        kind = rng.random()
        if kind < 0.3:
            return (str(rng.choice(UNARY)), (), [a], [])
        if kind < 0.75:
            name = str(rng.choice(BINARY))
            checked = name == "pow" and all(np.asarray(self.values[r]).dtype.kind in "iu" for r in (a, b))
            return ("multiply" if checked else name, (), [a, b], [])
        if kind < 0.82:
            bools = [r for r in range(n) if np.asarray(self.values[r]).dtype == bool]
            return ("where", (), [int(rng.choice(bools)) if bools else a, b, c], [])
        if kind < 0.87:
            return ("astype", (CODES[DTYPES[rng.integers(len(DTYPES))]],), [a], [])
        if kind < 0.9:
            return ("sum_to", (), [a], [])
        if kind < 0.93 and self.values[a].ndim == 0:
            axes = tuple((0, axis) for axis in range(self.values[0].ndim))
            return (str(rng.choice(["full", "broadcast_in_dim"])), ((),), [a], list(axes))
        return (str(rng.choice(REDUCTIONS[:-1])), (tuple(range(self.values[a].ndim)),), [a], [])

    def outputs(self):
        """Some of the results, and all that no call reads."""
        made = range(len(self.examples), len(self.values))
        read = {r for call in self.calls for r in call[2]}
        return [r for r in made if r not in read or self.rng.random() < 0.2]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("seed", range(12))
def test_random_expressions(seed, n):
    """To the bit, but for what depends on a reduction of more than one tile."""
    dag = Dag(1000 * seed + n % 997, (n,) if seed % 3 else (n, 1), 5 + 3 * seed)
    outputs = dag.outputs()
    given = tiled(dag.examples, dag.calls, outputs)
    for r, g in zip(outputs, given, strict=True):
        if r in dag.reduced and n > SMALLEST_TILE:
            assert np.asarray(g).dtype == np.asarray(dag.values[r]).dtype
        else:
            assert bits(g) == bits(dag.values[r]), dag.calls


# u = a x + b, y = exp(-u^2), the sum of y
BELL = [("multiply", (), [0, 1], []), ("add", (), [3, 2], []), ("square", (), [4], [])]
BELL += [("negative", (), [5], []), ("exp", (), [6], []), ("sum", ((0,),), [7], [])]


def bell_operands(x):
    return tuple(tn.asarray(np.asarray(v, x.dtype)) for v in (x, 1.5, 0.25))


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8"])
@pytest.mark.parametrize("n", SIZES)
def test_sums(n, dtype):
    x = array(np.random.default_rng(n), n, np.dtype(dtype)) / 4
    y, total = tiled(bell_operands(x), BELL, [7, 8])
    terms = np.asarray(y).astype(complex)
    unit = np.finfo(x.dtype).eps / 2
    # One rounding for each term, eight at most in each of its components.
    assert abs(np.asarray(total) - terms.sum()) <= 8 * n * unit * abs(terms).sum()
    if n > SMALLEST_TILE:  # in a tree, so that the error grows with log n
        assert abs(np.asarray(total) - terms.sum()) <= 64 * unit * abs(terms).sum()


@pytest.mark.parametrize("name", ["max", "min", "any", "all", "sum", "prod"])
@pytest.mark.parametrize("dtype", ["i4", "u1", "?"])
def test_exact_reductions(name, dtype):
    x = tn.asarray(array(np.random.default_rng(5), (70, 33), np.dtype(dtype)))
    calls = [("bitwise_xor", (), [0, 0], []), ("bitwise_or", (), [0, 1], []), (name, ((0, 1),), [2], [])]
    (got,) = tiled([x], calls, [3])
    assert bits(got) == bits(eager([x], calls)[-1])


def test_a_nan_in_any_tile_is_the_largest():
    x = np.zeros(100_000)
    x[77_777] = np.nan
    (got,) = tiled([tn.asarray(x)], [("negative", (), [0], []), ("max", ((0,),), [1], [])], [2])
    assert np.isnan(np.asarray(got))


def test_every_dense_layout():
    rng = np.random.default_rng(0)
    for order in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]:
        x, w = (tn.asarray(rng.standard_normal((40, 7, 9)).transpose(order)) for _ in range(2))
        calls = [("multiply", (), [0, 1], []), ("exp", (), [2], []), ("sum", ((0, 1, 2),), [3], [])]
        y, total = tiled([x, w], calls, [3, 4])
        expected = eager([x, w], calls)
        assert bits(y) == bits(expected[3])
        assert np.asarray(y).strides == np.asarray(x).strides
        np.testing.assert_allclose(np.asarray(total), np.asarray(expected[4]), rtol=1e-14)


def test_other_layouts_are_declined():
    x = np.random.default_rng(0).standard_normal((12, 8))
    calls = [("multiply", (), [0, 1], []), ("exp", (), [2], [])]
    example = [tn.asarray(x), tn.asarray(x)]

    def declines(a, b):
        return tiled(example, calls, [3], [tn.asarray(a), tn.asarray(b)]) is None

    assert not declines(x, x)
    assert not declines(x.T, x.T)
    assert declines(x[::2], x[::2])
    assert declines(x, x[::-1])
    assert declines(x.reshape(8, 12).T, x)
    assert declines(x[:1], x)
    assert declines(x[:0], x[:0])
    assert declines(x.astype("f4"), x)


def test_a_repeated_element():
    x, one = np.random.default_rng(0).standard_normal((30, 50)), np.asarray(1.75)
    calls = [
        ("multiply", (), [0, 1], []),
        ("exp", (), [1], []),
        ("pow", (), [3, 2], []),
        ("sum", ((0, 1),), [4], []),
    ]
    example = [tn.asarray(x)] * 2
    for shape in [(30, 50), (1, 1), (300, 50)]:
        x = np.random.default_rng(0).standard_normal(shape)
        repeated = tn.broadcast_to(tn.asarray(one), shape)
        for operands in [[tn.asarray(x), repeated], [repeated, tn.asarray(x)], [repeated, repeated]]:
            *got, total = tiled(example, calls, [2, 3, 4, 5], operands)
            *expected, sum_ = eager(operands, calls)[2:]
            assert [bits(g) for g in got] == [bits(e) for e in expected]
            np.testing.assert_allclose(np.asarray(total), np.asarray(sum_), rtol=1e-13)


def test_a_scalar_that_was_broadcast():
    """The gradient of a sum: no operand is read for more than its shape where the cotangent is spread."""
    x, g = tn.asarray(np.arange(600.0)), tn.asarray(3.0)
    spread = ("broadcast_in_dim", ((),), [1], [(0, 0)])
    calls = [spread, ("multiply", (), [2, 0], []), ("multiply", (), [2, 2], []), ("full", (), [1], [(3, 0)])]
    repeated, product, square, full = tiled([x, g], calls, [2, 3, 4, 5])
    assert np.asarray(repeated).strides == (0,)
    assert np.asarray(square).strides == (8,)
    assert [np.asarray(t).tolist() for t in (repeated, product, square, full)] == [
        [3.0] * 600, np.arange(0.0, 1800.0, 3.0).tolist(), [9.0] * 600, [3.0] * 600,
    ]  # fmt: skip


def test_small_and_short_groups_are_declined():
    """Setting up a run costs more than it saves."""
    calls = [("multiply", (), [0, 0], []), ("exp", (), [1], [])]
    assert tiled([tn.asarray(np.arange(4.0))], calls, [2]) is None
    assert tiled([tn.asarray(np.arange(65.0))], calls, [2]) is not None


def test_a_size_that_was_fixed():
    x, g = tn.asarray(np.arange(80.0)), tn.asarray(3.0)
    calls = [("exp", (), [0], []), ("broadcast_in_dim", ((),), [1], [80]), ("multiply", (), [2, 3], [])]
    assert tiled([x, g], calls, [4]) is not None
    assert tiled([x, g], calls, [4], [tn.asarray(np.arange(81.0)), g]) is None


def test_identities_that_are_read_later_are_copies():
    x = tn.asarray(np.arange(80.0))
    real, cast, double = tiled(
        [x],
        [("real", (), [0], []), ("astype", (CODES[np.dtype("f8")],), [0], []), ("add", (), [1, 2], [])],
        [1, 2, 3],
    )
    for t in (real, cast):
        t[0] = 7.0
    assert np.asarray(x).tolist() == np.arange(80.0).tolist()
    assert np.asarray(double).tolist() == (2 * np.arange(80.0)).tolist()


def test_a_group_ends_where_a_vector_meets_a_reduction():
    calls = [*BELL, ("divide", (), [7, 8], []), ("exp", (), [9], [])]
    x = bell_operands(np.ones(5))
    assert _core.tile_group(list(x), calls, [10]).n_steps == len(BELL)
    assert _core.tile_group(list(x), BELL[:1], [3]) is None


def test_what_ends_a_group():
    a, b = tn.asarray(np.ones((3, 4))), tn.asarray(np.ones(4))
    for last in [
        ("add", (), [3, 1], []),  # broadcasts
        ("sum", ((0,),), [3], []),  # keeps an axis
        ("transpose", ((1, 0),), [3], []),
        ("sum_to", (), [3], [4]),
        ("broadcast_in_dim", ((1,),), [1], [3, 4]),
    ]:
        calls = [("exp", (), [0], []), ("multiply", (), [2, 0], []), last]
        assert _core.tile_group([a, b], calls, [4]).n_steps == 2


def test_a_long_chain_needs_few_tiles():
    x, a = tn.asarray(np.full(4, 1.5)), tn.asarray(0.5)
    calls = [
        (("maximum", "hypot", "minimum")[k % 3], (), [0 if k == 0 else k + 1, k % 2], []) for k in range(1000)
    ]
    group = _core.tile_group([x, a], calls, [1001])
    assert "1000 operations; 1 tile of" in repr(group)
    assert bits(group.run([x, a])[0]) == bits(eager([x, a], calls)[-1])


def test_chains_need_tiles_only_between_them():
    x, a = tn.asarray(np.full(4, 1.5)), tn.asarray(0.5)
    calls = [
        (("add", "multiply", "subtract")[k % 3], (), [0 if k == 0 else k + 1, k % 2], []) for k in range(3000)
    ]
    group = _core.tile_group([x, a], calls, [3001])
    assert "3000 operations, 3000 in 3 chains; 1 tile of" in repr(group)
    assert bits(group.run([x, a])[0]) == bits(eager([x, a], calls)[-1])


class Links(Dag):
    """Random calls that chains are made of, many of which read what the call before made."""

    def random_call(self):
        rng, n = self.rng, len(self.values)
        a, b = (n - 1 if rng.random() < 0.6 else int(rng.integers(n)) for _ in range(2))
        if rng.random() < 0.3:
            return (str(rng.choice(["negative", "abs", "square", "sqrt", "exp"])), (), [a], [])
        if rng.random() < 0.1 and self.values[a].ndim:
            return ("sum", ((0,),), [a], [])
        return (str(rng.choice(["add", "subtract", "multiply", "divide"])), (), [a, b], [])


@pytest.mark.parametrize("target", _core.simd_targets())
@pytest.mark.parametrize("n", [1, 2, 7, 31, 32, 33, 64, 100, 700, 5000])
def test_chains(n, target):
    """To the bit, on every target; sums, but for the order of their terms."""
    before = _core.simd_target()
    assert _core.select_simd_target(target)
    try:
        for seed in range(12):
            dag = Links(seed, (n,), 10)
            outputs = dag.outputs()
            given = tiled(dag.examples, dag.calls, outputs)
            for r, g in zip(outputs, given, strict=True):
                if r not in dag.reduced:
                    assert bits(g) == bits(dag.values[r]), dag.calls
    finally:
        _core.select_simd_target(before)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 31, 33, 127, 129, 1000, 100_003])
def test_sums_of_chains(n, dtype):
    x = tn.asarray(np.random.default_rng(n).standard_normal(n).astype(dtype))
    calls = [("multiply", (), [0, 0], []), ("negative", (), [1], []), ("abs", (), [2], [])]
    (total,) = tiled([x], [*calls, ("sum", ((0,),), [3], [])], [4])
    exact = np.sum(np.asarray(x, np.float64) ** 2)
    # at most 64 roundings of each term, however many there are: 16 in a block, its lanes, the blocks, tiles
    assert abs(np.asarray(total, np.float64) - exact) <= 64 * np.finfo(dtype).eps / 2 * exact


def test_memory_is_that_of_the_outputs():
    x = bell_operands(np.ones(1 << 20))
    group = _core.tile_group(list(x), BELL, [8])
    group.run(list(x))
    tn.pool.reset_peak()
    before = tn.pool.stats()["bytes_in_use"]
    group.run(list(x))
    assert tn.pool.stats()["peak_bytes_in_use"] - before < 1 << 16
