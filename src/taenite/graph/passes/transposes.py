"""Transposes and conjugates become axes and flags of what reads them.

A permuted or conjugated operand of a contraction is the operand itself, with other axes and with a flag; of a
triangular solve, the other triangle and other flags; of a reduction, other axes. The transpose of a product
is the product of the operands in the other order. Permutations of permutations are composed, and dropped
where they cancel. Elementwise results of permuted operands that only contractions, triangular solves and
transposes read are computed as the operands are stored, and permuted then.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from taenite.graph.ir import Graph, Instruction, Type
from taenite.graph.primitives import ELEMENTWISE
from taenite.graph.rewrite import exposed, rebuild, resolve
from taenite.ops.convert import inverse_permutation

Axes = tuple[int, ...]
_OF_ANY_ORDER = frozenset(("transpose", "dot_general", "solve_triangular"))
_REDUCTIONS = frozenset(("sum", "prod", "max", "min", "any", "all"))


class View(NamedTuple):
    """A register as the transpose and, if ``conj``, the conjugate of another."""

    base: int
    perm: Axes
    conj: int


def run(graph: Graph) -> Graph:
    sweep = _Sweep(graph)
    for i in graph.instructions:
        sweep.take(resolve(i, sweep.renamed))
    return rebuild(graph, sweep.kept, sweep.renamed, types=tuple(sweep.types))


class _Sweep:
    """The instructions so far, and which registers are views of others."""

    def __init__(self, graph: Graph) -> None:
        self.types = list(graph.types)
        self.exposed = exposed(graph)
        self.sinking = _permuted_results(graph, self.exposed)
        self.kept: list[Instruction] = []
        self.views: dict[int, View] = {}
        self.makers: dict[int, Instruction] = {}  # of products and triangular solves
        self.renamed: dict[int, int] = {}
        self.uses = Counter(graph.outputs)
        self.shared: set[int] = set()  # views of which a step on the way to the base is read by others too
        self.transposed: set[int] = set()  # what a transpose reads
        for i in graph.instructions:
            self.uses.update(i.inputs)
            if i.primitive == "transpose":
                self.transposed.update(i.inputs)

    def view(self, r: int) -> View:
        return self.views.get(r) or View(r, tuple(range(self.types[r].ndim)), 0)

    def take(self, i: Instruction) -> None:
        if i.primitive == "transpose":
            self._transpose(i)
        elif i.primitive == "conj" and self.types[i.inputs[0]].dtype.kind == "c":
            self._conjugate(i)
        elif i.primitive == "dot_general":
            self._dot_general(i)
        elif i.primitive == "solve_triangular":
            self._solve_triangular(i)
        elif i.primitive in _REDUCTIONS and i.inputs[0] in self.views:
            self._reduce(i)
        elif i.primitive in ELEMENTWISE and i.outputs[0] in self.sinking:
            self._sink(i)
        else:
            self.kept.append(i)

    # ---- transposes and conjugates

    def _transpose(self, i: Instruction) -> None:
        base, perm, conj = self.view(i.inputs[0])
        if not self._absorbed(i, View(base, tuple([perm[axis] for axis in i.attrs[0]]), conj)):
            self.kept.append(i)

    def _conjugate(self, i: Instruction) -> None:
        base, perm, conj = self.view(i.inputs[0])
        if not self._absorbed(i, View(base, perm, 1 - conj)):
            self.kept.append(i)

    def _absorbed(self, i: Instruction, view: View) -> bool:
        """Notes what the output is; whether that made the instruction superfluous, or another one."""
        (x,), (y,) = i.inputs, i.outputs
        if not view.conj and i.primitive == "conj" and y in self.exposed:
            return False  # a copy
        if not view.conj and _is_identity(view.perm):
            self.renamed[y] = view.base
            self.uses[view.base] += self.uses[y]
            return True
        if self.uses[x] != 1 or x in self.shared:
            self.shared.add(y)
        elif not view.conj and (turned := self._turned(y, view)):
            self._keep_maker(turned)
            return True
        self.views[y] = view
        if view.conj:
            return False
        self.kept.append(Instruction("transpose", (view.perm,), (view.base,), (), i.outputs, 1, i.source))
        return True

    def _turned(self, y: int, view: View) -> Instruction | None:
        """What computes the transpose of a result that nothing else reads, if that is as simple."""
        maker = self.makers.get(view.base)
        if maker is None or self.uses[view.base] != 1:
            return None
        turn = self._turned_product if maker.primitive == "dot_general" else self._turned_solve
        return turn(maker, y, view.perm)

    def _keep_maker(self, i: Instruction) -> None:
        self.makers[i.outputs[0]] = i
        self.kept.append(i)

    # ---- elementwise

    def _sink(self, i: Instruction) -> None:
        """The result of operands as they are stored, permuted."""
        (y,), perm = i.outputs, self.sinking[i.outputs[0]]
        views = [self.view(r) for r in i.inputs]
        if any(v.conj or v.perm not in (perm, ()) for v in views):
            self.kept.append(i)
            return
        stored, bases = self._stored(y, perm), tuple([v.base for v in views])
        self.kept.append(Instruction(i.primitive, i.attrs, bases, (), (stored,), 1, i.source))
        self._keep_view(y, stored, perm, i.source)

    # ---- contractions

    def _dot_general(self, i: Instruction) -> None:
        """Operands as they are stored, and the permutation of the output that this asks for."""
        y = i.outputs[0]
        may_permute = self.uses[y] == 1 and y in self.transposed
        attrs, inputs, out = list(i.attrs), list(i.inputs), list(range(len(i.attrs[2])))
        for k in (0, 1):
            base, perm, conj = self.view(inputs[k])
            free = [p for axis, p in enumerate(perm) if axis not in attrs[k] and axis not in attrs[2 + k]]
            in_order = sorted(free)
            if free != in_order and not may_permute:
                out += range(len(out), len(out) + len(free))
                continue
            out += [len(out) + in_order.index(p) for p in free]
            inputs[k], attrs[4 + k] = base, attrs[4 + k] ^ conj
            attrs[k], attrs[2 + k] = (tuple([perm[axis] for axis in attrs[m]]) for m in (k, 2 + k))
        if tuple(inputs) == i.inputs:
            self._keep_maker(i)
        else:
            self._keep_product(i, tuple(attrs), tuple(inputs), tuple(out))

    def _keep_product(self, i: Instruction, attrs: tuple[Axes, ...], inputs: Axes, out: Axes) -> None:
        """The product, and the transpose of it that is the output of i."""
        (y,) = i.outputs
        if _is_identity(out):
            return self._keep_maker(Instruction(i.primitive, attrs, inputs, (), (y,), 1, i.source))
        product = self._stored(y, out)
        self._keep_maker(Instruction(i.primitive, attrs, inputs, (), (product,), 1, i.source))
        return self._keep_view(y, product, out, i.source)

    def _stored(self, y: int, perm: Axes) -> int:
        """A register of which y is to be the transpose."""
        shape = self.types[y].shape
        self.types.append(Type(self.types[y].dtype, tuple([shape[k] for k in inverse_permutation(perm)])))
        self.uses[len(self.types) - 1] = 1
        return len(self.types) - 1

    def _keep_view(self, y: int, stored: int, perm: Axes, source: str) -> None:
        self.views[y] = View(stored, perm, 0)
        self.kept.append(Instruction("transpose", (perm,), (stored,), (), (y,), 1, source))

    def _turned_product(self, maker: Instruction, y: int, perm: Axes) -> Instruction | None:
        """The permuted product as a product: batch axes in any order, the operands in either."""
        a, b = maker.inputs
        contract_a, contract_b, batch_a, batch_b, conj_a, conj_b = maker.attrs
        n = len(batch_a)
        if any(p >= n for p in perm[:n]):
            return None
        batch_a, batch_b = tuple([batch_a[p] for p in perm[:n]]), tuple([batch_b[p] for p in perm[:n]])
        of_a = self.types[a].ndim - len(contract_a)
        rows, columns = tuple(range(n, of_a)), tuple(range(of_a, len(perm)))
        if perm[n:] == rows + columns:
            attrs = (contract_a, contract_b, batch_a, batch_b, conj_a, conj_b)
        elif perm[n:] == columns + rows:
            a, b, attrs = b, a, (contract_b, contract_a, batch_b, batch_a, conj_b, conj_a)
        else:
            return None
        return Instruction(maker.primitive, attrs, (a, b), (), (y,), 1, maker.source)

    # ---- triangular solves: op(A)^-1 B, or B op(A)^-1

    def _solve_triangular(self, i: Instruction) -> None:
        """The other triangle of what is stored."""
        upper, transposed, conjugated, unit, left = i.attrs
        base, perm, conj = self.view(i.inputs[0])
        swapped = int(_is_matrix_transpose(perm))
        if base != i.inputs[0] and (swapped or _is_identity(perm)):
            attrs = (upper ^ swapped, transposed ^ swapped, conjugated ^ conj, unit, left)
            i = Instruction(i.primitive, attrs, (base, i.inputs[1]), (), i.outputs, 1, i.source)
        self._keep_maker(i)

    def _turned_solve(self, maker: Instruction, y: int, perm: Axes) -> Instruction | None:
        """The transpose of op(A)^-1 B^T is B op(A)^-T."""
        a, b = maker.inputs
        base, of_b, conj = self.view(b)
        if conj or self.types[a].ndim != len(perm) or not _is_matrix_transpose(perm) or of_b != perm:
            return None
        upper, transposed, conjugated, unit, left = maker.attrs
        attrs = (upper, 1 - transposed, conjugated, unit, 1 - left)
        return Instruction(maker.primitive, attrs, (a, base), (), (y,), 1, maker.source)

    # ---- reductions

    def _reduce(self, i: Instruction) -> None:
        """Other axes, if those that stay are in order."""
        base, perm, conj = self.views[i.inputs[0]]
        stay = [p for axis, p in enumerate(perm) if axis not in i.attrs[0]]
        if not conj and stay == sorted(stay):
            axes = tuple(sorted(perm[axis] for axis in i.attrs[0]))
            i = Instruction(i.primitive, (axes,), (base,), (), i.outputs, i.mask, i.source)
        self.kept.append(i)


def _permuted_results(graph: Graph, exposed: set[int]) -> dict[int, Axes]:
    """Elementwise results of operands that are all permuted alike, scalars aside, whose readers do not mind
    how they are stored."""
    found: dict[int, Axes] = {}
    for i in graph.instructions:
        if i.primitive == "transpose":
            x, (perm,) = i.inputs[0], i.attrs
            before = found.get(x)
            found[i.outputs[0]] = perm if before is None else tuple([before[axis] for axis in perm])
        elif i.primitive in ELEMENTWISE:
            whole = {(found.get(r), graph.types[r].shape) for r in i.inputs if graph.types[r].shape}
            (perm, _), *others = whole or {(None, ())}
            if perm is not None and not others and not _is_identity(perm):
                found[i.outputs[0]] = perm
    for r in exposed:
        found.pop(r, None)
    for i in reversed(graph.instructions):
        if i.primitive not in _OF_ANY_ORDER and not (i.primitive in ELEMENTWISE and i.outputs[0] in found):
            for r in i.inputs:
                found.pop(r, None)
    return found


def _is_identity(perm: Axes) -> bool:
    return perm == tuple(range(len(perm)))


def _is_matrix_transpose(perm: Axes) -> bool:
    n = len(perm)
    return n >= 2 and perm == (*range(n - 2), n - 1, n - 2)
