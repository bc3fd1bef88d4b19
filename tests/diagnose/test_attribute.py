"""Attribution: its process, its controls, its table, and one real profile."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from profiles import CORE, OPENBLAS, written
from rich.console import Console
from typer.testing import CliRunner

from taenite.bench.measure import Stopwatch
from taenite.cli import app
from taenite.diagnose import attribution_table, calls, controls, instructions, operation
from taenite.diagnose.arm import Arm, Refused, Work, run
from taenite.diagnose.attribute import Attribution, Found, as_json
from taenite.diagnose.attribute_command import chosen_arms, chosen_row
from taenite.diagnose.callgrind import Edge, Function
from taenite.diagnose.calls import Called, Calls, Observed
from taenite.diagnose.instructions import Entry, Instructions
from taenite.diagnose.window import Windows

runner = CliRunner()
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed here")


def counted(**changes) -> Instructions:
    one = Instructions(
        total=1000.0,
        batch=1,
        windows={"N=1": 1100, "N=2": 2100, "N=3": 3100},
        by_category=dict.fromkeys(categories_of(), 0.0) | {"GEMM kernel": 900.0, "Python": 100.0},
        top=[],
        entries=[Entry("dgemm_", "OpenBLAS", 1.0, 950.0)],
        kernel={"dgemm_kernel_HASWELL": 900.0},
        kernel_files={OPENBLAS: "abc"},
        simd={"processor": ["AVX2"], "taenite": "avx2"},
    )
    return replace(one, **changes)


def categories_of() -> list[str]:
    return [one.name for one in instructions.categories.default().categories]


def observed() -> Calls:
    volumes = dict.fromkeys(calls.VOLUMES, (0, 0)) | {"allocations": (1, 8_388_608)}
    seen = Observed(
        {"gemm": 0.02}, [Called("gemm", "float64", (1024, 1024, 1024), 1)], {"geqrf": (2, 640)}, 0, volumes
    )
    return Calls(0.025, [25e6], seen, simd={"processor": ["AVX2", "AVX512F"], "taenite": "avx512"})


# ---- The process


def test_windows_do_nothing_outside_of_valgrind():
    windows, done = Windows(), []
    assert not windows.on_valgrind()
    with windows.counting():
        windows.window("N=1", lambda: done.append(1))
    assert done == [1]


def test_threads_that_work_beside_the_first_one_are_counted():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()  # the thread exists before the windows
        watch = Stopwatch("out = pool.submit(sum, range(200000)).result()", {"pool": pool})
        assert operation.count(watch, Windows(), 1, 2)["active_threads"] == 2
    assert operation.count(Stopwatch("out = sum(range(1000))", {}), Windows(), 1, 2)["active_threads"] == 1


def test_operations_that_differ_are_refused():
    once = {"seconds": {}, "calls": [], "copies": [1, 8]}
    with pytest.raises(RuntimeError, match="differ in \\['copies'\\]"):
        operation.joined([once, once | {"copies": [2, 16]}])


def test_small_rows_are_counted_in_batches():
    assert operation.batch_of(chosen_row("add", None, None)) == operation.BATCH
    large = chosen_row("matmul", None, "1024x1024")
    assert operation.batch_of(large) == 1
    assert operation.warmups(large) < operation.warmups(chosen_row("matmul", None, "128x128"))


# ---- Refusals


def test_no_valgrind_is_refused_with_a_remedy(monkeypatch):
    monkeypatch.setenv("PATH", "")
    result = runner.invoke(app, ["attribute", "add", "--backends", "eager"])
    assert result.exit_code == 1
    assert "apt install valgrind, or use --no-instructions" in result.output


def test_a_valgrind_that_does_not_understand_requests_is_refused(tmp_path):
    function = Function(CORE, "f")
    (tmp_path / "out.1").write_text(written({function: 5}, label="N=1"))
    (tmp_path / "out.2").write_text(written({function: 0}, label="N=2"))
    with pytest.raises(Refused, match=r"counted nothing in N=2, N=3.*Rebuild taenite"):
        instructions.windows(tmp_path / "out")


def test_more_threads_than_allowed_are_refused():
    instructions.require_threads(2, 2)
    with pytest.raises(Refused, match=r"2 threads worked where 1 may.*taenite affinity"):
        instructions.require_threads(2, 1)


def test_instructions_are_not_counted_natively(tmp_path):
    work = Work(chosen_row("add", None, None), 1, tmp_path, 60)
    with pytest.raises(Refused, match="under valgrind only"):
        run(Arm("eager"), work, "instructions")


def test_a_process_that_ends_badly_says_its_last_words(tmp_path):
    work = Work(chosen_row("add", None, None), 1, tmp_path, 60)
    with pytest.raises(Refused, match=r"eager gemm=nothing ended with code 1.*nothing"):
        run(Arm("eager", "nothing"), work, "calls")


def test_a_process_that_takes_too_long_is_refused(tmp_path):
    work = Work(chosen_row("add", None, None), 1, tmp_path, 0.01)
    with pytest.raises(Refused, match=r"longer than 0.01 s; raise --timeout"):
        run(Arm("eager"), work, "calls")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["ad"], "there is no case 'ad'; there are"),
        (["add", "--phase", "hvp"], "add has no phase 'hvp'; it has primal"),
        (["add", "--shape", "5"], "add has no shape '5'; it has 4"),
        (["add", "--backends", "matlab"], "'matlab' is unknown"),
        (["add", "--backends", "numpy", "--gemm", "native"], "eager and compiled only"),
        (["add", "--gemm", "native,native"], "name each way to multiply once"),
        (["add", "--threads", "4096"], "CPUs are allowed"),
    ],
)
def test_usage_errors_name_what_there_is(arguments, message):
    result = runner.invoke(app, ["attribute", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


def test_arms_are_backends_times_ways_to_multiply():
    labels = [arm.label for arm in chosen_arms("eager,numpy", "native,/x/libfoo.so")]
    assert labels == ["eager gemm=native", "eager gemm=libfoo.so", "numpy"]


# ---- Arithmetic and controls


def test_one_operation_is_half_of_what_three_have_more_than_one():
    product, outer = Function(OPENBLAS, "dgemm_kernel_HASWELL"), Function(CORE, "tn::bind()")
    edge = Edge(outer, product)
    parts = {f"N={n}": ({product: 100 * n, outer: 7 + n}, {edge: (n, 100 * n)}) for n in (1, 2, 3)}
    read = instructions.callgrind.parse
    profiles = {label: read(written(*part, label)) for label, part in parts.items()}
    found = instructions.instructions(profiles, batch=1)
    assert (found.total, found.inside, found.outside, found.kernel_count) == (101, 100, 1, 100)
    assert found.nonlinearity == 0
    assert instructions.instructions(profiles, batch=10).total == 10.1


def test_linearity():
    assert controls.linearity(counted()).verdict == "ok"
    bent = counted(total=1e6, windows={"N=1": 1_000_000, "N=2": 2_000_000, "N=3": 3_005_100})
    assert controls.linearity(bent).verdict == "failed"


def test_agreement():
    assert controls.agreement([counted()]).verdict == "-"
    assert controls.agreement([counted(), counted(total=1000.9)]).verdict == "ok"
    assert controls.agreement([counted(), counted(total=1002.0)]).verdict == "failed"


def kernels_of(**changes) -> list[tuple[str, bool]]:
    found = controls.kernels({"a": counted(), "b": counted(**changes)})
    return [(one.verdict, "not comparable" in one.text) for one in found]


def test_kernels_that_are_the_same_count_the_same():
    other = {"/numpy.libs/libopenblas64.so": "def"}
    assert kernels_of() == [("ok", False)]
    assert kernels_of(kernel={"dgemm_kernel_HASWELL": 901.0}) == [("failed", False)]
    assert kernels_of(kernel_files=other) == [("ok", False)]
    assert kernels_of(kernel={"dgemm_kernel_HASWELL": 990.0}, kernel_files=other) == [("-", True)]


def test_kernels_that_differ_are_not_compared():
    torch = {
        "kernel": {"mkl_blas_avx2_dgemm_kernel_0_b0": 900.0},
        "kernel_files": {"/t/libtorch_cpu.so": "f"},
    }
    assert kernels_of(**torch) == [("-", True)]
    assert kernels_of(kernel={}) == []


# ---- The joined result


def attribution(tmp_path, arms) -> Attribution:
    return Attribution(Work(chosen_row("matmul", None, None), 1, tmp_path, 1), arms, [], "3.19.0", ["a note"])


def shown(found) -> str:
    console = Console(width=200, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    attribution_table.show(console, found)
    console.file.close()
    return console.export_text()


def test_both_instruments_are_in_one_table(tmp_path):
    one = Found(Arm("eager", "openblas"), observed(), counted(), [controls.linearity(counted())])
    peer = Found(Arm("numpy"), refused={"calls": "unsupported: NumPy does not differentiate"})
    found = attribution(tmp_path, [one, peer])
    lines = [" ".join(line.split()) for line in shown(found).splitlines()]
    for wanted in (
        "per operation gemm=openblas numpy",
        "time, ms 25 -",
        "time / inside calls 1.250 -",
        "gemm float64 1024x1024x1024 1 calls -",
        "workspace of geqrf 2, 640 B -",
        "allocations 1, 8,388,608 B -",
        "instructions 1,000 -",
        "GEMM kernel 900 -",
        "inside provider's entry points 950 -",
        "outside of them 50 -",
        "eager gemm=openblas: instructions on AVX2; kernels: avx2",
        "eager gemm=openblas: time on AVX2 AVX512F; kernels: avx512",
        "numpy: calls: unsupported: NumPy does not differentiate",
        "note: a note",
    ):
        assert wanted in lines
    assert "packing" not in " ".join(lines)
    assert found.failures == []


def test_json_holds_everything(tmp_path):
    found = attribution(tmp_path, [Found(Arm("eager"), observed(), counted())])
    given = json.loads(json.dumps(as_json(found)))
    (arm,) = given["arms"]
    assert given["row"]["key"].startswith("matmul|primal|1024x1024|float64")
    assert arm["calls"]["time_over_calls"] == 1.25
    assert arm["instructions"]["outside_provider"] == 50
    assert arm["instructions"]["simd"] == {"processor": ["AVX2"], "taenite": "avx2"}


def test_failed_controls_and_refusals_fail_the_command(tmp_path):
    bent = Found(Arm("eager"), controls=[controls.Control("linearity", "failed", "bent")])
    silent = Found(Arm("compiled"), refused={"instructions": "counted nothing"})
    failures = attribution(tmp_path, [bent, silent]).failures
    assert failures == ["compiled: instructions: counted nothing", "eager: linearity: bent"]


# ---- Real ones


def test_a_solve_is_attributed_to_its_provider_calls(tmp_path):
    json_file = tmp_path / "solve.json"
    words = ["attribute", "grad_sum_solve", "--shape", "64x64,rhs=1", "--backends", "eager,numpy"]
    result = runner.invoke(app, [*words, "--no-instructions", "--json", str(json_file)])
    assert result.exit_code == 0, result.output
    ours, numpys = json.loads(json_file.read_text())["arms"]
    assert {call["routine"] for call in ours["calls"]["observed"]["calls"]} >= {"getrf", "getrs"}
    assert ours["calls"]["time_over_calls"] > 1
    assert numpys["refused"]["calls"].startswith("unsupported")


@needs_valgrind
def test_a_sum_is_attributed_to_instructions(tmp_path):
    """Four additions are one call of a kernel; most of the rest is dispatch and the interpreter's loop."""
    json_file = tmp_path / "add.json"
    words = ["attribute", "add", "--backends", "eager", "--no-calls", "--json", str(json_file)]
    result = runner.invoke(app, words)
    assert result.exit_code == 0, result.output
    found = json.loads(json_file.read_text())["arms"][0]["instructions"]
    costs = found["by_category"]
    assert sum(costs.values()) == pytest.approx(found["total"])
    assert 10 < costs["elementwise and reductions"] < 500
    assert 100 < costs["dispatch and rest of taenite"] < 5_000
    assert found["entries"] == []
    assert found["active_threads"] == 1
    assert "AVX512F" not in found["simd"]["processor"]
