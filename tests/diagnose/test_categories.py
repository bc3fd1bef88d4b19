"""Categories of functions, and the entry points of providers."""

from pathlib import Path

import pytest
from hypothesis import given
from profiles import CORE, GOMP, LIBC, OPENBLAS, PYTHON, TORCH, profiles, written

import taenite as tn
from taenite.diagnose import callgrind, categories
from taenite.diagnose.callgrind import Edge, Function

KERNELS = "void tn::(anonymous namespace)::"

KNOWN = {
    (OPENBLAS, "dgemm_kernel_HASWELL"): "GEMM kernel",
    (OPENBLAS, "sgemm_small_kernel_nt_SKYLAKEX"): "GEMM kernel",
    (OPENBLAS, "dgemm_small_matrix_permit_HASWELL"): "rest of the provider",
    (OPENBLAS, "dgemm_itcopy_HASWELL"): "packing",
    (OPENBLAS, "dgemm_beta_HASWELL"): "memset and fill",
    (OPENBLAS, "dgetrf_single"): "rest of the provider",
    (TORCH, "mkl_blas_avx2_dgemm_kernel_0_b0"): "GEMM kernel",
    (TORCH, "mkl_blas_avx2_dgemm_initialize_kernel_info"): "rest of the provider",
    (TORCH, "mkl_blas_avx2_dgemm_dcopy_down12_ea"): "packing",
    (TORCH, "at::TensorIteratorBase::build(at::TensorIteratorConfig&)"): "dispatch and rest of PyTorch",
    (TORCH, "at::native::AVX2::VectorizedLoop2d<at::native::mul>"): "elementwise and reductions",
    (CORE, KERNELS + "tile<double, 1, 4, 3>(tn::Tile<double> const&)"): "GEMM kernel",
    (CORE, KERNELS + "by_rows<double>(tn::Gemv const&)"): "GEMM kernel",
    (CORE, KERNELS + "pack<double>(tn::Source<double> const&, long)"): "packing",
    (CORE, KERNELS + "multiply<double, 1>(tn::Gemm const&)"): "GEMM driver",
    (CORE, KERNELS + "binary_loop<tn::(anonymous namespace)::Multiply, double>(void*)"): (
        "elementwise and reductions"
    ),
    (CORE, KERNELS + "permute_strided<double>(tn::Tiles const&)"): "copy",
    (CORE, "tn::fill(tn::Tensor&, double)"): "memset and fill",
    (CORE, "tn::bind(tn::Primitive const&)"): "dispatch and rest of taenite",
    (LIBC, "__memset_avx2_unaligned_erms"): "memset and fill",
    (LIBC, "__memcpy_avx_unaligned_erms"): "copy",
    (LIBC, "_int_malloc"): "allocator",
    (LIBC, "pthread_mutex_lock@@GLIBC_2.2.5"): "rest of libc",
    (PYTHON, "_PyEval_EvalFrameDefault"): "Python",
    ("???", "0x0000000004936728"): "rest",
}


@pytest.mark.parametrize("where, name", KNOWN)
def test_functions_of_libraries_are_where_a_reader_looks_for_them(where, name):
    one, table = Function(where, name), categories.default()
    of_provider = table.provider_of(one) is not None
    assert categories.category_of(one, of_provider, table) == KNOWN[where, name]


@pytest.mark.parametrize("name", ["binary_loop", "by_rows", "row_matmul", "permute_strided", "accumulate"])
def test_kernels_keep_their_names_in_the_installed_module(name):
    assert name.encode() in Path(tn._core.__file__).read_bytes()


@given(profiles())
def test_every_instruction_is_in_one_category(profile):
    found = callgrind.parse(written(*profile))
    costs = categories.by_category(found, categories.default())
    assert sum(of.total() for of in costs.values()) == found.total
    assert sum(len(of) for of in costs.values()) == len(found.self_cost)


ENTRY, KERNEL = Function(OPENBLAS, "dgemm_"), Function(OPENBLAS, "dgemm_kernel_HASWELL")
CALLER, MEMSET = Function(CORE, "tn::contract()"), Function(LIBC, "memset")


def found_entries(cost, calls):
    profile = callgrind.parse(written(cost, calls))
    return [
        (e.function.name, e.calls, e.inclusive) for e in categories.entries(profile, categories.default())
    ]


def test_an_entry_point_costs_what_is_below_it_libc_included():
    cost = {CALLER: 10, ENTRY: 5, KERNEL: 100, MEMSET: 30}
    calls = {Edge(CALLER, ENTRY): (2, 125), Edge(ENTRY, KERNEL): (2, 100), Edge(ENTRY, MEMSET): (2, 20)}
    assert found_entries(cost, calls | {Edge(CALLER, MEMSET): (1, 10)}) == [("dgemm_", 2, 125)]


def test_an_inner_call_is_not_counted_twice():
    inner = Function(OPENBLAS, "cblas_dgemm")
    cost = {CALLER: 1, ENTRY: 5, inner: 7}
    assert found_entries(cost, {Edge(CALLER, ENTRY): (1, 12), Edge(ENTRY, inner): (1, 7)}) == [
        ("dgemm_", 1, 12)
    ]


def test_a_runtime_that_calls_back_does_not_enter_again():
    run = Function(GOMP, "GOMP_parallel")
    cost = {CALLER: 1, ENTRY: 5, run: 1, KERNEL: 50}
    calls = {Edge(CALLER, ENTRY): (1, 56), Edge(ENTRY, run): (1, 51), Edge(run, KERNEL): (1, 50)}
    assert found_entries(cost, calls) == [("dgemm_", 1, 56)]


def test_what_only_a_provider_calls_in_its_file_belongs_to_it():
    """MKL lies inside of PyTorch's library, and not all of its functions say so in their names."""
    entry, inner = Function(TORCH, "cblas_dgemm"), Function(TORCH, "getPointer_buffer")
    kernel, other = Function(TORCH, "mkl_blas_avx2_dgemm_kernel_0_b0"), Function(TORCH, "c10::lookup()")
    cost = {other: 1, entry: 1, inner: 2, kernel: 3}
    calls = {Edge(other, entry): (1, 6), Edge(entry, inner): (1, 5), Edge(inner, kernel): (1, 3)}
    assert found_entries(cost, calls) == [("cblas_dgemm", 1, 6)]
    costs = categories.by_category(callgrind.parse(written(cost, calls)), categories.default())
    assert costs["rest of the provider"] == {entry: 1, inner: 2}
    assert costs["dispatch and rest of PyTorch"] == {other: 1}


def test_a_table_must_end_with_what_matches_everything():
    with pytest.raises(ValueError, match="must match everything, not 'only'"):
        categories.load('[[category]]\nname = "only"\npatterns = [{ object = "x" }]')
