"""Strided copies against NumPy: permutations, item sizes and edges, on every SIMD target, between guards."""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taenite as tn
from taenite import _core

DTYPES = [np.uint8, np.uint16, np.float32, np.float64, np.complex128]
GUARD = 64  # items before and after every destination
STREAMED = 4 << 20  # bytes from which a destination may be written past the caches
SIGNS = st.sampled_from([1, -1, 2, -2, 3])


@pytest.fixture(autouse=True, scope="module", params=_core.simd_targets())
def target(request: pytest.FixtureRequest) -> Iterator[None]:
    before = _core.simd_target()
    assert _core.select_simd_target(request.param)
    yield
    _core.select_simd_target(before)


def numbers(count: int, dtype: type) -> np.ndarray:
    """Bytes that differ from their neighbours in every item and between items."""
    size = np.dtype(dtype).itemsize
    if size == 1:
        return (np.arange(count) % 251).astype(np.uint8)
    return np.arange(1, count + 1).astype(dtype)


class Guarded:
    """A destination inside a larger array, of which nothing else may change."""

    def __init__(self, most: int, dtype: type) -> None:
        self.mark = np.array(77, dtype)
        self.memory = np.full(most + 2 * GUARD, self.mark)
        self.want = self.memory.copy()
        self.tensor = tn.asarray(self.memory)

    def check_copy(self, source: np.ndarray) -> None:
        inside = slice(GUARD, GUARD + source.size)
        tn.reshape(self.tensor[inside], source.shape)[...] = tn.asarray(source)
        self.want[inside] = source.reshape(-1)
        assert np.array_equal(self.memory, self.want), (source.shape, source.strides)


def check_shapes(shapes: Iterable[tuple[int, ...]], dtype: type, most: int) -> None:
    guarded, pool = Guarded(most, dtype), numbers(most, dtype)
    for shape in shapes:
        x = pool[: np.prod(shape)].reshape(shape)
        for perm in itertools.permutations(range(len(shape))):
            if perm != tuple(sorted(perm)):
                guarded.check_copy(x.transpose(perm))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_matrix_up_to_17(dtype):
    check_shapes(itertools.product(range(1, 18), repeat=2), dtype, 17**2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_around_the_edges_of_blocks_and_tiles(dtype):
    sizes = (31, 33, 63, 64, 65, 127, 129, 200, 513)
    check_shapes(itertools.product(sizes, sizes), dtype, 513**2)


def test_every_cube_up_to_17():
    check_shapes(itertools.product(range(1, 18), repeat=3), np.float64, 17**3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_cubes(dtype):
    check_shapes(itertools.product((1, 2, 3, 5, 8, 9, 17), repeat=3), dtype, 17**3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_four_axes(dtype):
    check_shapes(itertools.product((1, 2, 3, 9), repeat=4), dtype, 9**4)


@pytest.mark.parametrize("dtype", DTYPES)
def test_runs_of_every_length(dtype):
    check_shapes(((5, 6, n) for n in range(1, 70)), dtype, 30 * 70)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_small_axes(dtype):
    for size, axes in ((2, 13), (3, 8)):
        x = numbers(size**axes, dtype).reshape((size,) * axes)
        guarded = Guarded(x.size, dtype)
        rng = np.random.default_rng(axes)
        for perm in (range(axes)[::-1], np.roll(range(axes), 1), *(rng.permutation(axes) for _ in range(20))):
            guarded.check_copy(x.transpose(perm))


LARGE = [(1024, 1040), (1000, 1041), (64, 130, 128), (130, 64, 8, 16), (60, 70, 33, 8), (2,) * 20, (3,) * 13]


@pytest.mark.parametrize("dtype", DTYPES[2:])
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_destinations_that_are_written_past_the_caches(shape, dtype):
    x = numbers(int(np.prod(shape)), dtype).reshape(shape)
    assert x.nbytes > STREAMED or dtype == np.float32
    for perm in (range(x.ndim)[::-1], (*range(1, x.ndim), 0), (1, 0, *range(2, x.ndim))):
        aligned = tn.empty(tuple(x.transpose(perm).shape), dtype=tn.asarray(x).dtype)
        aligned[...] = tn.permute_dims(tn.asarray(x), tuple(int(p) for p in perm))
        np.testing.assert_array_equal(np.asarray(aligned), x.transpose(perm))


@pytest.mark.parametrize("dtype", DTYPES)
def test_destinations_with_gaps_keep_what_is_between(dtype):
    for shape in itertools.product((1, 2, 5, 17, 40), repeat=2):
        x = numbers(int(np.prod(shape)), dtype).reshape(shape)
        want = np.full((2 * shape[1], 3 * shape[0] + 1), 77, dtype)
        got = tn.asarray(want.copy())
        want[::2, 1::3] = x.T
        got[::2, 1::3] = tn.asarray(x).T
        np.testing.assert_array_equal(np.asarray(got), want)
        got[::2, 1::3][::-1] = tn.asarray(x).T
        want[::2, 1::3][::-1] = x.T
        np.testing.assert_array_equal(np.asarray(got), want)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_layout(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    shape = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=5).map(tuple))
    x = numbers(int(np.prod(shape)), dtype).reshape(shape)
    view = x[tuple(slice(None, None, data.draw(SIGNS)) for _ in shape)]
    view = view.transpose(data.draw(st.permutations(range(len(shape)))))
    if data.draw(st.booleans()):
        axis = data.draw(st.integers(0, view.ndim - 1))
        view = np.broadcast_to(view.take([0], axis), view.shape)
    Guarded(view.size, dtype).check_copy(view)
