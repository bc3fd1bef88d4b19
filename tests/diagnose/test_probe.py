"""`taenite probe`: what it sees of NumPy, SciPy, taenite, and small programs with a library of their own."""

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from taenite.cli import app
from taenite.diagnose.probe import LIBRARY, is_static, library_note
from taenite.diagnose.probe_file import read_all

HERE = Path(__file__).parent

if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
    pytest.skip("needs Linux on x86-64", allow_module_level=True)


class Seen:
    """The report of one run."""

    def __init__(self, report, outcome):
        self.report, self.outcome = report, outcome
        self.processes = report["processes"]
        self.calls = [call for process in self.processes for call in process["calls"]]

    def shapes(self, routine):
        """Shape and number of calls."""
        return {tuple(call["shape"]): call["calls"] for call in self.calls if call["routine"] == routine}

    def symbols(self, routine):
        return {call["symbol"] for call in self.calls if call["routine"] == routine}


def probe(directory, *command, shapes=False):
    file = directory / "found.json"
    words = ["probe", *["--shapes"] * shapes, "--json", str(file), "--", *map(str, command)]
    outcome = CliRunner().invoke(app, words)
    return Seen(json.loads(file.read_text()), outcome)


NUMPY = """
import numpy as np, scipy.linalg
a = np.random.rand(30, 40) @ np.random.rand(40, 50)
a = np.random.rand(20, 20) + 20 * np.eye(20)
np.linalg.solve(a, np.ones((20, 3)))
np.linalg.svd(a)
scipy.linalg.lu_factor(np.random.rand(17, 17))
"""


@pytest.fixture(scope="module")
def numpy_calls(tmp_path_factory):
    return probe(tmp_path_factory.mktemp("numpy"), sys.executable, "-c", NUMPY, shapes=True)


def test_products_of_numpy_are_seen_by_name_and_shape(numpy_calls):
    assert numpy_calls.shapes("dgemm") == {(30, 50, 40): 1}


def test_a_solve_is_one_gesv_and_no_getrf(numpy_calls):
    """gesv factors on its way; the only factorization that is seen is SciPy's own."""
    assert numpy_calls.shapes("dgesv") == {(20, 3): 1}
    assert numpy_calls.shapes("dgetrf") == {(17, 17): 1}


def test_asking_for_a_workspace_is_no_call(numpy_calls):
    (call,) = [call for call in numpy_calls.calls if call["routine"] == "dgesdd"]
    assert (call["calls"], call["queries"], call["shape"]) == (1, 1, [20, 20])


def test_numpy_and_scipy_each_call_the_library_that_they_bundle(numpy_calls):
    libraries = {call["routine"]: call["library"] for call in numpy_calls.calls}
    assert libraries["dgesv"] != libraries["dgetrf"]
    assert {libraries["dgesv"], libraries["dgetrf"]} <= set(numpy_calls.processes[0]["libraries"])


def test_the_table_has_a_line_for_each_shape(numpy_calls):
    lines = numpy_calls.outcome.stderr.splitlines()
    assert any("dgemm" in line and "30 x 50 x 40" in line and "%" in line for line in lines)


TAENITE = """
import taenite as tn
a = tn.eye(12) * 3.0
with tn.providers.use(gemm="openblas"):
    tn.matmul(a, a)
tn.linalg.solve(a, tn.ones((12, 5)))
print(tn.providers.info())
"""


def test_calls_of_taenite_are_seen_though_it_finds_them_by_handle(tmp_path, capfd):
    seen = probe(tmp_path, sys.executable, "-c", TAENITE)
    assert seen.shapes("dgemm") == {(12, 12, 12): 1}
    assert seen.shapes("dgetrf") == {(12, 12): 1} and seen.shapes("dgetrs") == {(12, 5): 1}
    assert "_probe" not in capfd.readouterr().out  # the provider is still known by its own file


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program that calls a library with the symbols of a BLAS, and a second one that finds it by itself."""
    if (compiler := shutil.which("cc") or shutil.which("gcc")) is None:
        pytest.skip("needs a C compiler")
    directory = tmp_path_factory.mktemp("program")
    library = directory / "libfakeblas.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", HERE / "fake_blas.c", "-o", library], check=True)
    found = directory / "call_blas"
    flags = ["-L", directory, "-lfakeblas", "-pthread", f"-Wl,-rpath,{directory}"]
    subprocess.run([compiler, "-O1", HERE / "call_blas.c", "-o", found, *flags], check=True)
    return found


def test_every_spelling_is_understood_and_no_argument_is_lost(tmp_path, program):
    seen = probe(tmp_path, program, "spellings")
    assert seen.outcome.exit_code == 0, seen.outcome.stderr
    assert {call["symbol"]: tuple(call["shape"]) for call in seen.calls} == {
        "dgemm_": (2, 3, 4),
        "dgemm": (3, 4, 5),
        "DGEMM": (4, 5, 6),
        "dgemm_64_": (2**40, 3, 4),
        "scipy_dgemm_64_": (5, 6, 7),
        "cblas_dgemm": (6, 7, 8),
        "scipy_cblas_dgemm64_": (7, 8, 9),
    }
    assert {call["routine"] for call in seen.calls} == {"dgemm"}


def test_results_are_handed_back(tmp_path, program):
    seen = probe(tmp_path, program, "results")
    assert seen.outcome.exit_code == 0
    assert seen.shapes("ddot") == {(3,): 1} and seen.shapes("zdotc") == {(): 1}


def test_inner_calls_are_part_of_the_outer_one(tmp_path, program):
    assert {call["symbol"] for call in probe(tmp_path, program, "inner").calls} == {"dgesv_"}


def test_calls_that_are_left_by_a_jump_do_not_hide_later_ones(tmp_path, program):
    assert len(probe(tmp_path, program, "jumps").symbols("dgemm")) == 7


def test_no_call_of_several_threads_is_lost(tmp_path, program):
    assert probe(tmp_path, program, "threads").shapes("dgemm") == {(m, 2, 3): 400 for m in range(1, 11)}


def test_forked_children_count_for_themselves_however_they_end(tmp_path, program):
    """One ends by _exit, one is killed, one becomes another program."""
    seen = probe(tmp_path, program, "forks")
    by_process = [{tuple(call["shape"]) for call in one["calls"]} for one in seen.processes]
    parent, first, second, third, after_exec = by_process
    assert (parent, first, second, third) == ({(1, 1, 1)}, {(2, 2, 2)}, {(3, 3, 3)}, {(4, 4, 4)})
    assert len(after_exec) == 7
    assert seen.processes[3]["pid"] == seen.processes[4]["pid"]


def test_too_many_shapes_lose_the_shapes_and_not_the_calls(tmp_path, program):
    seen = probe(tmp_path, program, "shapes")
    assert sum(seen.shapes("dgemm").values()) == 20000
    assert seen.processes[0]["lost"] == 0 and seen.processes[0]["shapeless"] == seen.shapes("dgemm")[()]
    assert any("too many shapes" in note for note in seen.report["notes"])


@pytest.fixture
def compiled(tmp_path, program):
    def build(source, *flags):
        (tmp_path / "source.c").write_text(source)
        found = tmp_path / "compiled"
        compiler = shutil.which("cc") or shutil.which("gcc")
        subprocess.run([compiler, "-O1", tmp_path / "source.c", "-o", found, *flags], check=True)
        return found

    return build


def test_a_library_that_is_opened_locally_is_found_from_its_user(tmp_path, program, compiled):
    """As NumPy is: an extension that is opened RTLD_LOCAL and linked with a BLAS that nobody else sees."""
    source = "void dgesv_(int*, int*, double*); void go(void) { int n = 6; double a; dgesv_(&n, &n, &a); }"
    user = compiled(
        source, "-shared", "-fPIC", f"-L{program.parent}", "-lfakeblas", f"-Wl,-rpath,{program.parent}"
    )
    seen = probe(tmp_path, sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(user)!r}).go()")
    assert seen.shapes("dgesv") == {(6, 6): 1}


def test_a_blas_of_its_own_is_named(tmp_path, compiled):
    """The calls stay within one file, and so cannot be seen; that is said."""
    source = '__attribute__((visibility("protected"))) void dgemm_(void) {} void go(void) { dgemm_(); }'
    library = compiled(source, "-shared", "-fPIC")
    seen = probe(tmp_path, sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r}).go()")
    assert seen.calls == []
    assert f"{library} contains a BLAS of its own, linked statically" in "\n".join(seen.report["notes"])


def test_somebody_elses_function_of_that_name_is_left_alone(tmp_path, compiled):
    """It takes no pointers, which must not be followed then."""
    library = compiled("long ddot(long a, long b) { return a + b; }", "-shared", "-fPIC")
    user = f"import ctypes; exit(ctypes.CDLL({str(library)!r}).ddot(3, 4))"
    source = "long ddot(long a, long b); int main(void) { return ddot(3, 4); }"
    assert probe(tmp_path, sys.executable, "-c", user).outcome.exit_code == 7
    shutil.move(library, tmp_path / "libother.so")
    seen = probe(tmp_path, compiled(source, f"-L{tmp_path}", "-lother", f"-Wl,-rpath,{tmp_path}"))
    assert (seen.outcome.exit_code, seen.calls) == (7, [])


def test_a_static_program_cannot_be_watched_and_that_is_said(tmp_path, compiled):
    program = compiled(
        'void _start(void) { __asm__("syscall" :: "a"(231), "D"(5)); }', "-static", "-nostdlib"
    )
    assert is_static(program) and not is_static(Path(sys.executable))
    seen = probe(tmp_path, program)
    assert seen.outcome.exit_code == 5
    assert f"{program} is linked statically: its calls cannot be seen" in seen.report["notes"]


@pytest.mark.parametrize("ending, code", [("raise SystemExit(7)", 7), ("os.kill(os.getpid(), 9)", 137)])
def test_the_code_of_a_child_that_fails_is_passed_on(tmp_path, ending, code):
    seen = probe(tmp_path, sys.executable, "-c", f"import os; {ending}")
    assert seen.outcome.exit_code == seen.report["exit_code"] == code
    assert len(seen.processes) == 1


def test_the_streams_are_the_childs_own():
    code = "import sys; print(input()); sys.stderr.write('e' * 2**20)"
    command = [sys.executable, "-m", "taenite.cli", "probe", "--", sys.executable, "-c", code]
    done = subprocess.run(command, input="typed\n", capture_output=True, text=True)
    assert done.stdout == "typed\n" and done.stderr.startswith("e" * 2**20)
    assert "0 calls of BLAS and LAPACK in 1 process " in done.stderr


@pytest.mark.parametrize("data", [b"", b"\0" * 2**20])
def test_a_process_that_ended_while_it_made_its_file_is_left_out(tmp_path, data):
    (tmp_path / "1-2.probe").write_bytes(data)
    assert read_all(tmp_path) == []


def test_a_command_that_does_not_exist_is_refused():
    outcome = CliRunner().invoke(app, ["probe", "--", "/no/such/command"])
    assert outcome.exit_code == 127 and "no such command" in outcome.stderr


def test_the_library_needs_neither_python_nor_a_blas():
    if shutil.which("readelf") is None:
        pytest.skip("needs a C compiler")
    text = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True, check=True).stdout
    needed = {line.partition("[")[2].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line}
    assert needed <= {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def test_what_is_known_of_peers_is_said():
    assert "MKL is linked into it" in library_note("/x/torch/lib/libtorch_cpu.so", True, True)
    assert "cannot be seen" in library_note("/x/jaxlib/libjax_common.so", False, False)
    assert library_note("/x/libopenblas.so.0", True, True) is None
    assert "no call to it was seen" in library_note("/x/libopenblas.so.0", True, False)
