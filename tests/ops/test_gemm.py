"""The native matrix product: every small shape on every SIMD target, strides, special values, blocks."""

import itertools
import os
import subprocess
import sys
import threading
from functools import lru_cache

import numpy as np
import pytest

import taenite as tn
from taenite import _core

TARGETS = _core.simd_targets()
MOST = 70
FLOATS = ("float64", "float32", "complex128", "complex64")


@pytest.fixture(params=TARGETS)
def target(request):
    _core.select_simd_target(request.param)
    with tn.providers.use(gemm="native"):
        yield request.param
    _core.select_simd_target(TARGETS[0])


def numbers(rng, shape, dtype):
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def roundoff(dtype):
    return np.finfo(dtype).eps / 2


class Sums:
    """A @ B for every k at once: sums over the first k terms, in extended precision, and error bounds.

    At most 2 k u |A| |B|, where k counts real terms: two for each complex one. (Higham, Accuracy and
    Stability of Numerical Algorithms, section 3.5, has k u without the 2, which covers the rounding of the
    reference.)
    """

    def __init__(self, dtype):
        rng = np.random.default_rng(70)
        self.a, self.b = numbers(rng, (MOST, MOST), dtype), numbers(rng, (MOST, MOST), dtype)
        is_complex = np.dtype(dtype).kind == "c"
        wide = np.clongdouble if is_complex else np.longdouble
        terms = self.a.T[:, :, None].astype(wide) * self.b[:, None, :].astype(wide)
        self.exact = np.cumsum(terms, axis=0).astype(np.result_type(dtype, np.float64))
        magnitudes = np.cumsum(np.abs(self.a.T)[:, :, None] * np.abs(self.b)[:, None, :], axis=0)
        k = np.arange(1, MOST + 1)[:, None, None] * (1 + is_complex)
        self.bound = 2 * k * roundoff(dtype) * magnitudes


@lru_cache
def sums_of(dtype):
    return Sums(dtype)


# Where tiles, vectors and blocks of the three targets begin and end; float64 takes every k.
SOME = (1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 70)


@pytest.mark.parametrize("dtype", FLOATS)
def test_componentwise_error_of_every_shape(dtype, target):
    sums = sums_of(dtype)
    a, b = tn.asarray(sums.a), tn.asarray(sums.b)
    sizes = range(1, MOST + 1)
    for k in sizes if dtype == "float64" else SOME:
        exact, bound = sums.exact[k - 1], sums.bound[k - 1]
        rows, columns = [a[:m, :k] for m in sizes], [b[:k, :n] for n in sizes]
        for m, n in itertools.product(sizes, sizes):
            error = np.abs(np.asarray(rows[m - 1] @ columns[n - 1]) - exact[:m, :n])
            assert (error <= bound[:m, :n]).all(), (m, n, k)


def strided(rng, shape, dtype, how):
    """The same numbers in other strides."""
    rows, columns = shape
    if how == "transposed":
        return numbers(rng, (columns, rows), dtype).T
    if how == "reversed":
        return numbers(rng, shape, dtype)[::-1, ::-1]
    if how == "steps":
        return numbers(rng, (2 * rows, 3 * columns), dtype)[::2, ::3]
    return numbers(rng, shape, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1, 33, 40), (33, 1, 40), (7, 300, 5), (130, 41, 530), (200, 300, 3)])
def test_strides(shape, dtype, target):
    rng = np.random.default_rng(2)
    m, n, k = shape
    for hows in itertools.product(["plain", "transposed", "reversed", "steps"], repeat=2):
        a, b = strided(rng, (m, k), dtype, hows[0]), strided(rng, (k, n), dtype, hows[1])
        bound = 4 * k * roundoff(dtype) * (np.abs(a) @ np.abs(b))
        assert (np.abs(np.asarray(tn.asarray(a) @ tn.asarray(b)) - a @ b) <= bound).all(), hows


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_special_values_spread_as_in_numpy(special, dtype, target):
    """Row i of a reaches row i of the product only, also past the padding of tiles."""
    rng = np.random.default_rng(3)
    for m, n, k in [(5, 3, 4), (13, 17, 9), (66, 35, 300), (1, 30, 8), (30, 1, 8)]:
        a, b = numbers(rng, (m, k), dtype), numbers(rng, (k, n), dtype)
        a[m // 2, k // 3] = special
        b[k // 2, n // 2] = -special
        with np.errstate(invalid="ignore"):
            expected = a @ b
        got = np.asarray(tn.asarray(a) @ tn.asarray(b))
        finite = np.isfinite(expected)
        assert (np.isfinite(got) == finite).all()
        np.testing.assert_allclose(got[finite], expected[finite], rtol=0, atol=8 * k * roundoff(dtype) * k)
        if np.dtype(dtype).kind == "f":
            np.testing.assert_array_equal(got[~finite], expected[~finite])


def test_zeros_do_not_hide_nan_and_inf(target):
    a, b = tn.zeros((20, 20)), tn.full((20, 20), np.inf)
    assert np.isnan(np.asarray(a @ b)).all()


def test_what_the_output_held_before_is_not_read(target):
    """A dead tensor full of NaN gives its memory to the product."""
    a, b = tn.ones((64, 64)), tn.ones((64, 64))
    for _ in range(3):
        dead = tn.full((64, 64), np.nan)
        del dead
        np.testing.assert_array_equal(np.asarray(a @ b), 64.0)


@pytest.mark.parametrize("dtype", FLOATS)
def test_several_threads_compute_the_same(dtype):
    rng = np.random.default_rng(4)
    for shapes in [((300, 200), (200, 150)), ((40, 300), (300, 900)), ((9, 120, 120), (9, 120, 120))]:
        a, b = (tn.asarray(numbers(rng, shape, dtype)) for shape in shapes)
        with tn.threads(1):
            one = np.asarray(a @ b)
        with tn.threads(3):
            several = np.asarray(a @ b)
        np.testing.assert_array_equal(one, several)


@pytest.mark.parametrize("m, n, k", [(9, 9, 30_000), (5, 5, 90_000), (9, 2, 120_000), (1, 1, 2_000_000)])
def test_the_order_of_sums_does_not_depend_on_threads(m, n, k):
    """Nor does a share of one row get the matrix-vector kernel, which adds up in another order."""
    rng = np.random.default_rng(16)
    a, b = rng.normal(size=(m, k)), rng.normal(size=(k, n))
    with tn.threads(1):
        alone = np.asarray(tn.asarray(a) @ tn.asarray(b))
    for count in (2, 3, 4):
        with tn.threads(count):
            np.testing.assert_array_equal(np.asarray(tn.asarray(a) @ tn.asarray(b)), alone)


def test_callers_in_several_threads_share_the_workers():
    rng = np.random.default_rng(5)
    a, b = numbers(rng, (256, 256), "float64"), numbers(rng, (256, 256), "float64")
    expected = np.asarray(tn.asarray(a) @ tn.asarray(b))
    wrong = []

    def multiply():
        with tn.threads(2):
            for _ in range(20):
                if not np.array_equal(np.asarray(tn.asarray(a) @ tn.asarray(b)), expected):
                    wrong.append(1)

    threads = [threading.Thread(target=multiply) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


FORKED = """
import os, sys
import numpy as np
import taenite as tn

x = tn.asarray(np.random.default_rng(0).normal(size=(300, 300)))
with tn.threads(2):
    expected = np.asarray(x @ x)
    child = os.fork()
    if child == 0:
        same = np.array_equal(np.asarray(x @ x), expected)
        os._exit(0 if same else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert np.array_equal(np.asarray(x @ x), expected)
"""


def test_a_forked_child_has_workers_of_its_own():
    subprocess.run([sys.executable, "-c", FORKED], check=True, timeout=120)


FORKED_AT_ANY_TIME = """
import os, signal, threading, warnings
import numpy as np
import taenite as tn

warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside threads
x = tn.asarray(np.ones((300, 300)))
y = tn.asarray(np.ones((4, 4)))
done = False

def multiply():
    while not done:
        x @ x

callers = [threading.Thread(target=multiply) for _ in range(3)]
for caller in callers:
    caller.start()
states = []
for _ in range(60):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(int((y @ y).sum().item() != 64))
    states.append(os.waitpid(child, 0)[1])
done = True
for caller in callers:
    caller.join()
assert not any(states), states
"""


def test_a_fork_beside_products_leaves_no_lock_behind():
    subprocess.run([sys.executable, "-c", FORKED_AT_ANY_TIME], check=True, timeout=120)


PINNED = """
import os, threading, time
import numpy as np
import taenite as tn

everywhere = os.sched_getaffinity(0)
x = tn.asarray(np.ones((400, 400)))
callers = set()

def multiply():
    callers.add(str(threading.get_native_id()))
    os.sched_setaffinity(0, {min(everywhere)})  # of this thread only
    with tn.threads(2):
        x @ x

thread = threading.Thread(target=multiply)
before = set(os.listdir("/proc/self/task"))
thread.start(); thread.join()
(worker,) = set(os.listdir("/proc/self/task")) - before - callers
end = time.monotonic() + 60  # it sets its mask when it gets to run
while os.sched_getaffinity(int(worker)) != everywhere:
    assert time.monotonic() < end, os.sched_getaffinity(int(worker))
    time.sleep(0.01)
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_workers_may_run_on_every_cpu_of_the_process():
    """Not only on the one that their first caller is pinned to."""
    subprocess.run([sys.executable, "-c", PINNED], check=True, timeout=120)
