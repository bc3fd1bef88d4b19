"""What importing taenite costs, and what it must not do."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import taenite as tn

PACKAGE = Path(tn.__file__).parent


def run(code):
    """What a fresh interpreter prints as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


IMPORT = """
import json, os, sys
import numpy

def state():
    with open("/proc/self/maps") as lines:
        blas = {line.split()[-1] for line in lines if "blas" in line or "mkl" in line or "lapack" in line}
    with open("/proc/self/status") as lines:
        fields = dict(line.split(":", 1) for line in lines)
    return {
        "modules": sorted(sys.modules), "environment": dict(os.environ), "blas": sorted(blas),
        "threads": len(os.listdir("/proc/self/task")), "kib": int(fields["VmRSS"].split()[0]),
        "affinity": sorted(os.sched_getaffinity(0)),
    }

before = state()
import taenite
print(json.dumps([before, state()]))
"""


@pytest.fixture(scope="module")
def imported():
    if not os.path.exists("/proc/self/task"):
        pytest.skip("needs /proc")
    return run(IMPORT)


@pytest.mark.parametrize("what", ["threads", "environment", "blas", "affinity"])
def test_import_has_no_side_effect(imported, what):
    before, after = imported
    assert after[what] == before[what]


def test_import_takes_less_than_40_mb_over_numpy(imported):
    before, after = imported
    assert after["kib"] - before["kib"] < 40 * 1024


def test_import_is_lean(imported):
    """Time is noise; the number of modules over NumPy's is what it is made of, 0.2 to 1 ms each."""
    before, after = imported
    added = set(after["modules"]) - set(before["modules"])
    foreign = {name.partition(".")[0] for name in added} - set(sys.stdlib_module_names) - {"taenite"}
    assert foreign <= {"optree", "typing_extensions"}  # optree imports the latter
    assert len(added) < 150


@pytest.mark.parametrize("what", ["show_config()", "providers.available()", "threads(1)"])
def test_asking_loads_no_library(what):
    if not os.path.exists("/proc/self/maps"):
        pytest.skip("needs /proc")
    code = f"import json, sys, taenite as tn\nsys.stdout, out = sys.stderr, sys.stdout\ntn.{what}\n"
    code += "print(json.dumps(open('/proc/self/maps').read()), file=out)"
    assert "libscipy_openblas.so" not in run(code)


WORK = """
import taenite as tn
loss = lambda a: tn.linalg.solve(a, tn.ones(2)).sum() + tn.einsum("ij,jk->", a, tn.exp(a))
print(tn.grad(loss)(tn.eye(2)), tn.jvp(loss, (tn.eye(2),), (tn.ones((2, 2)),)))
x = tn.variable([1.0, 2.0])
(x * x).sum().backward()
"""


def test_nothing_is_leaked_when_the_interpreter_ends():
    """nanobind prints what is still alive then."""
    done = subprocess.run([sys.executable, "-c", WORK], capture_output=True, check=True, text=True)
    assert done.stderr == ""


def test_nothing_below_the_namespaces_imports_the_package_itself():
    """import-linter takes `from taenite import _core` for an import of the package, and is told to ignore
    it; so this looks at what it does not see.
    """
    allowed = {"_core", "pool", "providers", "threads"}
    for path in PACKAGE.rglob("*.py"):
        if path.relative_to(PACKAGE).parts[0] in ("bench", "cli.py", "__init__.py", "diagnose"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "taenite":
                assert {alias.name for alias in node.names} <= allowed, path
            if isinstance(node, ast.Import):
                assert "taenite" not in [alias.name for alias in node.names], path


def test_no_import_hides_in_a_function():
    """Optional packages and the command line may be imported late; parts of taenite may not."""
    for path in PACKAGE.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if not isinstance(function, ast.FunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.ImportFrom):
                    assert node.level == 0 and not (node.module or "").startswith("taenite"), path


def test_version_is_that_of_the_wheel():
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert version("taenite") == tn.__version__
    except PackageNotFoundError:  # run from the source tree
        assert tn.__version__.count(".") == 2


def test_show_config_prints_what_it_returns(capsys):
    facts = tn.show_config(mode="dicts")
    tn.show_config()
    printed = capsys.readouterr().out
    assert all(f"{name}:" in printed for name in facts)
    assert f"kernels:     {facts['kernels']}" in printed
    json.dumps(facts)


def test_show_config_refuses_other_modes():
    with pytest.raises(ValueError, match="mode must be 'stdout' or 'dicts', got 'xml'"):
        tn.show_config(mode="xml")


def test_every_primitive_has_a_record():
    """The native table and the registry name the same primitives."""
    from taenite import _core
    from taenite.primitive import REGISTRY

    assert set(REGISTRY) == set(_core.primitive_names())
