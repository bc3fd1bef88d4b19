"""Loading, selecting and describing BLAS and LAPACK libraries, and calls through each of them."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy
import pytest

import taenite as tn
from taenite import _core

DTYPES = {"float32", "float64", "complex64", "complex128"}


def run_python(code, **environment):
    """Standard output of a fresh interpreter."""
    source = str(Path(tn.__file__).parents[1])
    env = {**os.environ, "PYTHONPATH": source, **environment}
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def assert_checks_pass(checks):
    assert {(c["routine"], c["dtype"]) for c in checks} == {
        (r, d) for r in tn.providers.ROUTINES for d in DTYPES
    }
    assert [c for c in checks if not c["ok"]] == []


@pytest.fixture(scope="session")
def copied_openblas(tmp_path_factory):
    """The default library under another path: for the loader a second one, with its own threads."""
    (original,) = tn.providers.available()["openblas"]
    copy = tmp_path_factory.mktemp("lib") / "libcopied_openblas.so"
    shutil.copy(original, copy)
    for neighbour in Path(original).parents[2].glob("scipy_openblas32.libs"):
        shutil.copytree(neighbour, copy.parents[1] / neighbour.name)
    return copy


@pytest.fixture(scope="session")
def ilp64_openblas():
    """NumPy's own OpenBLAS: 64-bit integers, names like scipy_dgemm_64_."""
    folders = [Path(numpy.__file__).parents[1] / "numpy.libs", Path(numpy.__file__).parent / ".dylibs"]
    found = [lib for folder in folders for lib in folder.glob("libscipy_openblas64*")]
    if not found:
        pytest.skip("this NumPy bundles no OpenBLAS with 64-bit integers")
    return found[0]


class TestDefault:
    def test_is_the_embedded_openblas(self):
        tn.providers.ensure()
        served = tn.providers.selected()
        assert served.pop("gemm") == "native"
        assert set(served.values()) == {"openblas"}

    @pytest.mark.parametrize("n", [1, 2, 24])
    def test_every_routine_with_every_type(self, n):
        assert_checks_pass(tn.providers.check(n=n))

    def test_import_loads_and_starts_nothing(self):
        code = """
import os, sys, numpy
threads, environment = len(os.listdir("/proc/self/task")), dict(os.environ)
import taenite
maps = open("/proc/self/maps").read()
assert "scipy_openblas32/lib" not in maps and "scipy_openblas32" not in sys.modules
assert len(os.listdir("/proc/self/task")) == threads and dict(os.environ) == environment
taenite.providers.available()
assert "scipy_openblas32/lib" not in open("/proc/self/maps").read()
taenite.providers.ensure()
assert "scipy_openblas32/lib" in open("/proc/self/maps").read() and "scipy_openblas32" not in sys.modules
"""
        if not os.path.exists("/proc/self/task"):
            pytest.skip("needs /proc")
        run_python(code)

    def test_missing_library_says_what_to_install(self):
        code = """
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "scipy_openblas32" else find(name)
import taenite
try:
    taenite.providers.check()
except ImportError as error:
    print(error)
"""
        assert "pip install scipy-openblas32" in run_python(code)


class TestUse:
    def test_path_given_as_text_path_or_list(self, copied_openblas):
        for target in (str(copied_openblas), copied_openblas, [copied_openblas]):
            with tn.providers.use(target):
                assert set(tn.providers.selected().values()) == {copied_openblas.name}
                assert_checks_pass(tn.providers.check())
        assert set(tn.providers.selected().values()) == {"openblas", "native"}

    def test_one_library_is_one_provider(self, copied_openblas, tmp_path):
        link = tmp_path / "libother_name.so"
        link.symlink_to(copied_openblas)
        tn.providers.check(copied_openblas)
        before = len(tn.providers.info())
        with tn.providers.use(link):
            assert tn.providers.selected()["gemm"] == copied_openblas.name
        assert len(tn.providers.info()) == before

    def test_per_routine_and_nested(self, copied_openblas):
        with tn.providers.use(copied_openblas, routines=["gesdd", "gemm"]):
            with tn.providers.use("openblas", routines=["gemm"]):
                selected = tn.providers.selected()
                assert (selected["gesdd"], selected["gemm"], selected["getrf"]) == (
                    copied_openblas.name,
                    "openblas",
                    "openblas",
                )
            assert tn.providers.selected()["gemm"] == copied_openblas.name
        assert tn.providers.selected()["gesdd"] == "openblas"

    def test_by_name_of_the_routine(self, copied_openblas):
        x = tn.ones((40, 40))
        with tn.providers.use(gemm=copied_openblas, gesdd="openblas"):
            selected = tn.providers.selected()
            assert (selected["gemm"], selected["getrf"]) == (copied_openblas.name, "openblas")
            numpy.testing.assert_array_equal(numpy.asarray(x @ x), 40.0)
            with tn.providers.use(gemm="native"):
                assert tn.providers.selected()["gemm"] == "native"
                numpy.testing.assert_array_equal(numpy.asarray(x @ x), 40.0)
            with tn.providers.use("openblas"):
                assert tn.providers.selected()["gemm"] == "openblas"
        with pytest.raises(ValueError, match="only gemm has a native kernel, got gesdd='native'"):
            tn.providers.use(gesdd="native")
        with pytest.raises(ValueError, match="unknown routines"):
            tn.providers.use(gem="openblas")
        with pytest.raises(TypeError, match="name a provider"):
            tn.providers.use()

    def test_call_sticks_for_the_process(self, copied_openblas):
        code = f"""
import threading, taenite as tn
tn.providers.use({str(copied_openblas)!r})
seen = []
thread = threading.Thread(target=lambda: seen.append(tn.providers.selected()["gemm"]))
thread.start(); thread.join()
print(seen[0], tn.providers.selected()["gesdd"], len(tn.providers.info()))
"""
        assert run_python(code) == f"{copied_openblas.name} {copied_openblas.name} 1"

    def test_call_inside_a_block_ends_with_the_block(self, copied_openblas):
        with tn.providers.use("openblas"):
            tn.providers.use(copied_openblas)
            assert tn.providers.selected()["gemm"] == copied_openblas.name
        assert tn.providers.selected()["getrf"] == "openblas"

    def test_block_belongs_to_its_thread(self, copied_openblas):
        seen = []
        with tn.providers.use(copied_openblas):
            thread = threading.Thread(target=lambda: seen.append(tn.providers.selected()["getrf"]))
            thread.start()
            thread.join()
        assert seen == ["openblas"]

    def test_exception_leaves_the_block(self, copied_openblas):
        with pytest.raises(KeyError), tn.providers.use(copied_openblas):
            raise KeyError
        assert tn.providers.selected()["getrf"] == "openblas"

    def test_unknown_name_lists_what_there_is(self):
        with pytest.raises(ValueError, match=r"unknown provider 'mkll'") as caught:
            tn.providers.use("mkll")
        text = str(caught.value)
        assert all(name in text for name in ("openblas: /", "mkl: ", "system: ", "path"))

    def test_not_installed_says_how_to_install(self, monkeypatch):
        monkeypatch.setattr(
            tn.providers, "_SOURCES", {"mkl": tn.providers._SOURCES["mkl"]._replace(find=list)}
        )
        with pytest.raises(ValueError, match=r"'mkl' is not installed(.|\n)*pip install mkl"):
            tn.providers.use("mkl")

    def test_unknown_routine(self):
        with pytest.raises(ValueError, match=r"unknown routines \['gesvd'\]"):
            tn.providers.use("openblas", routines=["gesvd"])
        with pytest.raises(TypeError, match="list of names"):
            tn.providers.use("openblas", routines="gemm")

    def test_missing_file(self):
        with pytest.raises(OSError, match=r"cannot load /nowhere/libblas\.so"):
            tn.providers.use("/nowhere/libblas.so")

    def test_library_without_blas(self):
        libc = "libm.so.6"
        with pytest.raises(OSError, match="not a BLAS library"):
            tn.providers.use(libc)


class TestIntegers:
    def test_large_dimension_is_refused_before_the_call(self):
        message = _core.provider_large_dimension_message()
        assert "gemm" in message and str(2**31) in message and "ILP64" in message

    def test_ilp64_library_is_recognised_and_right(self, ilp64_openblas):
        with tn.providers.use(ilp64_openblas):
            (info,) = [i for i in tn.providers.info() if i["name"] == ilp64_openblas.name]
            assert (info["integer_bits"], info["suffix"]) == (64, "_64_")
            assert_checks_pass(tn.providers.check())
            assert _core.provider_large_dimension_message() == ""

    def test_width_is_probed_when_the_names_do_not_tell(self, tmp_path):
        compiler = shutil.which("gcc") or shutil.which("cc")
        if compiler is None:
            pytest.skip("needs a C compiler")
        source = """
            #include <stdint.h>
            INT isamax_(const INT *n, const float *x, const INT *step) { return *n < 1 ? 0 : 2; }
            void dgemm_(void) {}
        """
        for bits in (32, 64):
            library = tmp_path / f"libplain{bits}.so"
            (tmp_path / "plain.c").write_text(source)
            subprocess.run(
                [compiler, "-shared", "-fPIC", f"-DINT=int{bits}_t", "-o", library, tmp_path / "plain.c"],
                check=True,
            )
            info = _core.provider_open(library.name, [str(library)]).info()
            assert (info["integer_bits"], info["kind"]) == (bits, "reference")
            assert "zgesdd" in info["missing"] and "dgemm" not in info["missing"]


class TestInfo:
    def test_is_plain_data_about_the_loaded_file(self):
        (info,) = [i for i in tn.providers.info() if i["name"] == "openblas"]
        assert json.loads(json.dumps(info)) == info
        (file,) = info["files"]
        assert file["sha256"] == hashlib.sha256(Path(file["path"]).read_bytes()).hexdigest()
        assert file["path"] in Path("/proc/self/maps").read_text()
        assert info["kind"] == "openblas" and info["integer_bits"] == 32 and info["prefix"] == "scipy_"
        assert info["version"].startswith("0.3.") and info["lapack_version"].startswith("3.")
        assert info["kernel"] and info["threading"] == "pthreads" and info["missing"] == []
        assert info["serves"] == [name for name in tn.providers.ROUTINES if name != "gemm"]

    def test_agrees_with_threadpoolctl(self):
        threadpoolctl = pytest.importorskip("threadpoolctl", reason="an independent witness")
        (info,) = [i for i in tn.providers.info() if i["name"] == "openblas"]
        seen = {i["filepath"]: i for i in threadpoolctl.threadpool_info()}[info["files"][0]["path"]]
        assert (seen["version"], seen["architecture"], seen["num_threads"]) == (
            info["version"],
            info["kernel"],
            info["threads"],
        )

    def test_available_names_files_that_exist(self):
        found = tn.providers.available()
        assert "openblas" in found
        assert all(Path(path).is_file() for paths in found.values() for path in paths)


class TestThreads:
    def told(self):
        """The number the default provider holds after it was called."""
        tn.providers.check(n=2)
        (info,) = [i for i in tn.providers.info() if i["name"] == "openblas"]
        return info["threads"]

    def test_blocks_nest_and_reach_the_provider(self):
        outside = self.told()
        with tn.threads(3):
            assert (tn.providers.get_num_threads(), self.told()) == (3, 3)
            with tn.threads(1):
                assert (tn.providers.get_num_threads(), self.told()) == (1, 1)
            assert self.told() == 3
        assert self.told() == outside

    def test_process_number_and_default(self):
        default = tn.providers.get_num_threads()
        try:
            tn.providers.set_num_threads(2)
            assert (tn.providers.get_num_threads(), self.told()) == (2, 2)
            with tn.threads(1):
                assert tn.providers.get_num_threads() == 1
        finally:
            tn.providers.set_num_threads(None)
        assert tn.providers.get_num_threads() == default

    def test_block_belongs_to_its_thread(self):
        seen = []
        default = tn.providers.get_num_threads()
        with tn.threads(default + 1):
            thread = threading.Thread(target=lambda: seen.append(tn.providers.get_num_threads()))
            thread.start()
            thread.join()
        assert seen == [default]

    @pytest.mark.parametrize("n", [0, -1])
    def test_numbers_below_one_are_refused(self, n):
        with pytest.raises(ValueError, match="at least 1"):
            tn.threads(n)
        with pytest.raises(ValueError, match="at least 1"):
            tn.providers.set_num_threads(n)

    def test_fractions_are_refused(self):
        with pytest.raises(TypeError):
            tn.threads(1.5)

    def test_default_is_bounded_by_affinity_and_environment(self):
        code = "import taenite as tn; print(tn.providers.get_num_threads())"
        assert run_python(code, OMP_NUM_THREADS="1") == "1"
        if hasattr(os, "sched_setaffinity"):
            pinned = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]);" + code
            assert run_python(pinned) == "1"

    def test_default_respects_the_provider_variable(self):
        code = """
import taenite as tn
tn.providers.check(n=2); print(tn.providers.info()[0]["threads"])
with tn.threads(2): tn.providers.check(n=2); print(tn.providers.info()[0]["threads"])
"""
        assert run_python(code, OPENBLAS_NUM_THREADS="1").split() == ["1", "2"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_after_use():
    code = """
import os, taenite as tn
with tn.threads(2):
    assert all(c["ok"] for c in tn.providers.check(n=64))
    child = os.fork()
    if child == 0:
        os._exit(0 if all(c["ok"] for c in tn.providers.check(n=64)) else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert all(c["ok"] for c in tn.providers.check(n=64))
"""
    assert run_python(code) == "0"


def test_first_use_from_many_threads():
    code = """
import threading, taenite as tn
barrier, failed = threading.Barrier(8), []
def work():
    barrier.wait()
    failed.extend(c for c in tn.providers.check(n=8) if not c["ok"])
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print(failed, len(tn.providers.info()))
"""
    assert run_python(code) == "[] 1"


@pytest.mark.parametrize(("name", "kinds"), [("mkl", {"mkl"}), ("system", {"openblas", "blis", "reference"})])
def test_other_named_providers(name, kinds):
    if name not in tn.providers.available():
        pytest.skip(f"{name} is not installed here")
    code = f"""
import json, taenite as tn
with tn.providers.use({name!r}):
    print(json.dumps([tn.providers.check(), [i for i in tn.providers.info() if i["name"] == {name!r}]]))
"""
    checks, (info,) = json.loads(run_python(code))
    assert_checks_pass(checks)
    assert info["kind"] in kinds and info["version"] and info["integer_bits"] == 32


def test_blis_with_a_separate_lapack():
    folders = tn.providers._library_folders()
    blis = tn.providers._first_match([*folders, *(f / "blis-pthread" for f in folders)], "libblis.so.*")
    lapack = tn.providers._first_match([*(f / "lapack" for f in folders), *folders], "liblapack.so.3")
    if not (blis and lapack):
        pytest.skip("BLIS and a LAPACK library are not both installed here")
    code = f"""
import json, taenite as tn
with tn.providers.use(({blis!r}, {lapack!r})), tn.threads(2):
    print(json.dumps([tn.providers.check(), tn.providers.info()]))
"""
    checks, (info,) = json.loads(run_python(code))
    assert_checks_pass(checks)
    assert (info["kind"], info["threads"]) == ("blis", 2) and len(info["files"]) == 2


def test_documentation_runs():
    text = (Path(__file__).parents[1] / "docs" / "providers.md").read_text()
    blocks = [part.split("```")[0] for part in text.split("```python\n")[1:]]
    assert blocks
    run_python("\n".join(blocks))
