"""A tour of taenite, from a tensor to a tape to a graph to a program. Run it: ``python docs/tour.py``.

Each part prints what it talks about, and asserts what it claims.
"""

from __future__ import annotations

import numpy as np

import taenite as tn
from taenite import _core
from taenite.graph import derive, show, trace
from taenite.graph.passes import cse, dead, group
from taenite.primitive import REGISTRY, Record

rng = np.random.default_rng(0)


def part(title: str) -> None:
    print(f"\n== {title} ==")


# ---- 1. A tensor is a strided window on pooled memory -----------------------------------------------------
part("tensors")

a = tn.asarray(rng.standard_normal((4, 3)))
view = a.T[::-1]
print(f"a: shape {a.shape}, strides {a.strides}; a.T[::-1]: shape {view.shape}, strides {view.strides}")
assert np.shares_memory(np.asarray(a), np.asarray(view))  # views and NumPy arrays share storage

before = tn.pool.stats()["bytes_in_use"]
del view
temporary = tn.exp(a)
print(f"exp(a) took {tn.pool.stats()['bytes_in_use'] - before} bytes of the pool")
del temporary
assert tn.pool.stats()["bytes_in_use"] == before

# ---- 2. One record per primitive is the only list ---------------------------------------------------------
part("records")

solve: Record = REGISTRY["solve"]
print(f"{len(REGISTRY)} primitives; solve: attributes {solve.attrs}, derivative by vjp={solve.vjp.__name__}")
print(f"the kernel behind it is native: {_core.primitive('solve').n_in} operands, "
      f"{_core.primitive('solve').n_out} outputs, hidden {_core.primitive('solve').hidden:#b}")  # fmt: skip

# ---- 3. A tracked tensor leaves nodes, and backward runs rules that became programs -----------------------
part("the tape")

m = tn.variable(rng.standard_normal((3, 3)))
b = rng.standard_normal((3, 1))
with tn.observe() as calls:
    tn.linalg.solve(m, b).sum().backward()
print(f"forward and backward of sum(inv(m) b): {dict(calls.counts)}")
assert calls.counts["getrf"] == 1  # the factorization of the forward pass is kept for the backward pass
print(_core.show_rules("tanh") or "tanh: not traced yet; a rule is traced when it is first needed")
tn.grad(tn.tanh)(0.5)
print(_core.show_rules("tanh"))

# ---- 4. Levels: why transforms nest -----------------------------------------------------------------------
part("levels")


def cube(x: tn.Tensor) -> tn.Tensor:
    return x * x * x


print(f"f(2), f'(2), f''(2), f'''(2) = {cube(2.0)}, {tn.grad(cube)(2.0)}, "
      f"{tn.grad(tn.grad(cube))(2.0)}, {tn.jvp(tn.grad(tn.grad(cube)), (2.0,), (1.0,))[1]}")  # fmt: skip
assert tn.jvp(lambda x: x * tn.grad(lambda y: x * y)(1.0), (3.0,), (1.0,))[1].item() == 6.0

# ---- 5. A trace writes a graph ----------------------------------------------------------------------------
part("the graph")


def loss(w: tn.Tensor, x: tn.Tensor) -> tn.Tensor:
    s = tn.linalg.svdvals(w)
    u, _, _ = tn.linalg.svd(w, full_matrices=False)
    unused = x * 2.0
    assert unused.shape == x.shape
    return (tn.exp(-((w @ x) ** 2)) + (u @ x)).sum() + s.sum()


w, x = tn.asarray(rng.standard_normal((3, 3))), tn.asarray(rng.standard_normal((3, 5)))
graph = trace.trace(lambda w, x: [loss(w, x)], [w, x])
print(show.show(graph))

# ---- 6. Passes are functions from graphs to graphs --------------------------------------------------------
part("passes")

shared = dead.run(cse.run(graph))
print(show.show(group.run(shared)))
count = [sum(i.primitive == "svd" for i in g.instructions) for g in (graph, shared)]
print(f"decompositions before and after: {count[0]}, {count[1]}")
assert count == [2, 1]  # values alone, and values with vectors: one factorization serves both

# ---- 7. A program runs at every size that its guards admit ------------------------------------------------
part("programs")

program = tn.compile(tn.value_and_grad(loss, argnums=(0, 1)))
for n, k in [(3, 5), (6, 2), (20, 30)]:
    value, _ = program(tn.asarray(rng.standard_normal((n, n))), tn.asarray(rng.standard_normal((n, k))))
    print(f"n = {n}, k = {k}: {value.item():.6f}  {program.stats}")
assert program.stats.traces == 1
print(program.programs[0])

# ---- 8. A compiled function of tracked tensors is one node, of every order --------------------------------
part("derivatives of programs")

fast = tn.compile(loss)
wanted = tn.grad(loss)(w, x)
got = tn.grad(fast)(w, x)
print(f"largest difference of the gradients: {np.abs(np.asarray(got) - np.asarray(wanted)).max():.1e}")
assert np.allclose(np.asarray(got), np.asarray(wanted), rtol=1e-12, atol=1e-12)

executable = fast.programs[0].executable
_, forward, backward, n_saved = derive.pullback(executable, [w, x], "10")
print(f"its pullback was cut in two: {len(forward.graph.instructions)} instructions forward, which save "
      f"{n_saved} values, {len(backward.graph.instructions)} backward")  # fmt: skip

print("\nthe tour is over")
