"""Every backend that is installed here answers every case at a small size as the oracles do."""

import numpy as np
import pytest

from taenite.bench import adapters, cases
from taenite.bench.adapters.base import Unsupported
from taenite.bench.case import Row, Size, all_cases
from taenite.bench.cases import permutation
from taenite.bench.measure import Stopwatch

assert cases.__all__

BACKENDS = ("eager", "compiled", "numpy", "scipy", "jax", "torch")
PEERS_WITHOUT_DERIVATIVES = ("numpy", "scipy")
SMALL = {
    **{
        name + suffix: tuple(min(n, 5) if len(shape) < 9 else 2 for n in shape)
        for name, _, shape, _ in permutation.PATTERNS
        for suffix in ("", "_into")
    },
    "matmul_rect": (6, 20, 7),
    "solve": (16, 3),
    "grad_sum_solve": (16, 2),
    "gaussian_process": (40, 10),
    "ising_trg": (12, 8),
    "chain_matmul_2x2": (2,),
    **{case.name: (5, 8) for case in all_cases() if case.name.startswith("batched")},
}
ROWS = [
    Row(case, phase, Size("small", SMALL.get(case.name, (24,))))
    for case in all_cases()
    for phase in case.phases
]


@pytest.fixture(scope="module", params=BACKENDS)
def adapter(request):
    package = adapters.sources()[request.param].requires
    pytest.importorskip(package, reason=f"{package} is an optional peer")
    return adapters.load(request.param, 1)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.op)
def test_outputs_agree_with_the_oracle(adapter, row):
    if row.case.name == "gaussian_process":
        pytest.importorskip("sklearn", reason="the diabetes data comes with scikit-learn")
    fixture = row.fixture()
    try:
        prepared = adapter.prepare(row, fixture)
    except Unsupported:
        assert adapter.name in PEERS_WITHOUT_DERIVATIVES or row.phase == "tracked" or row.output == "reused"
        return
    watch = Stopwatch(prepared.statement, prepared.names)
    check = row.check(fixture)
    check(row.phase, prepared.to_numpy(watch.once()))
    check(row.phase, prepared.to_numpy(watch.once()))


def test_a_second_call_does_not_accumulate_gradients(adapter):
    row = next(row for row in ROWS if row.op == "grad_sum_matmul_backward")
    try:
        prepared = adapter.prepare(row, row.fixture())
    except Unsupported:
        pytest.skip("NumPy does not differentiate")
    watch = Stopwatch(prepared.statement, prepared.names)
    first, second = (prepared.to_numpy(watch.once()) for _ in range(2))
    assert all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))


def test_what_a_worker_runs_on_is_described(adapter):
    assert adapter.describe()
    adapter.trim()
