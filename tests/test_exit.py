"""Nothing of taenite outlives the interpreter: nanobind's notice of leaks at exit stays away."""

import subprocess
import sys

import pytest

SCRIPTS = {
    "import": "",
    "gradients": "tn.grad(tn.sin)(1.0), tn.jvp(tn.sin, (1.0,), (1.0,)), tn.grad(tn.grad(tn.sin))(1.0)",
    "a graph in a global": "x = tn.variable(tn.ones(3)); y = (x * x).sum()",
    "a reference cycle": "class A: pass\na = A(); a.a, a.x = a, tn.variable(tn.ones(3)); a.y = a.x * a.x",
    "a pullback in a global": "y, pullback = tn.vjp(lambda x: tn.linalg.inv(x).sum(), tn.eye(3))",
    "an escaped tracer": "def f(x):\n    global kept\n    kept = x\n    return x\ntn.jvp(f, (1.0,), (1.0,))",
    "an exception with a live tensor": "x = tn.variable(tn.ones(3))\nraise ValueError(x * x)",
    "an error in a transform": "def f(x): 1 / 0\ntry: tn.grad(f)(1.0)\nexcept ArithmeticError as e: k = e",
    "a suspended generator": "def f():\n    x = tn.variable(tn.ones(3))\n    yield x * x\ng = f(); next(g)",
    "open blocks": "a = tn.no_grad(); a.__enter__(); b = tn.observe(); b.__enter__()",
    "views by NumPy": "a = np.asarray(tn.ones(3)); m = memoryview(tn.ones(3)); t = tn.asarray(np.ones(3))",
    "an array through DLPack": "a = np.from_dlpack(tn.ones(3)); t = tn.from_dlpack(tn.from_dlpack(a))",
    "a capsule": "c = tn.ones(3).__dlpack__(); d = tn.ones(3).__dlpack__(max_version=(1, 0))",
    "torch": "import torch\nz = torch.from_dlpack(tn.ones(3)); t = tn.from_dlpack(torch.ones(3))",
    "jax": "import jax.numpy\nz = jax.numpy.from_dlpack(tn.ones(3)); t = tn.from_dlpack(jax.numpy.ones(3))",
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_clean_exit(script):
    if script in ("torch", "jax"):
        pytest.importorskip(script, reason=f"{script} is an optional peer")
    code = f"import numpy as np, taenite as tn\n{SCRIPTS[script]}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.returncode != 0) == ("raise ValueError" in code), run.stderr
    assert "nanobind" not in run.stderr
