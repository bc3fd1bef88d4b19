"""The public functions. Plans are cached by equation and shapes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, update_wrapper
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.einsum.parse import Equation, interleaved, parse, parse_lists
from taenite.einsum.path import Path
from taenite.einsum.plan import Plan, make_plan
from taenite.ops.convert import asarray, promoted


@lru_cache(1024)
def _cached_plan(
    equation: Equation, shapes: tuple[tuple[int, ...], ...], strict: bool, optimize: Any
) -> Plan:
    return make_plan(equation, shapes, strict, optimize)


def _plan(equation: Equation, shapes: tuple[tuple[int, ...], ...], strict: bool, optimize: Any) -> Plan:
    hashable = isinstance(optimize, (str, bool)) and all(type(n) is int for shape in shapes for n in shape)
    return (_cached_plan if hashable else make_plan)(equation, shapes, strict, optimize)


def _read(arguments: Sequence[Any]) -> tuple[list[Tensor], Equation]:
    if not arguments:
        raise TypeError("einsum: an equation and its operands are needed, got nothing.")
    if isinstance(arguments[0], str):
        tensors = [asarray(x) for x in arguments[1:]]
        return tensors, parse(arguments[0], tuple(x.ndim for x in tensors))
    operands, terms, output = interleaved(arguments)
    tensors = [asarray(x) for x in operands]
    return tensors, parse_lists(terms, output, tuple(x.ndim for x in tensors))


def _native(definition: Any) -> Any:
    return update_wrapper(_core.make_einsum(definition), definition)


@_native
def einsum(*arguments: Any, optimize: Any = "auto", strict: bool = True) -> Tensor:
    """Sums of products over labelled axes: ``einsum("ij,jk->ik", a, b)``, ``einsum(a, [0, 1], b, [1, 2])``.

    ``optimize``: ``"auto"``, ``"greedy"``, ``"optimal"``, False (from left to right), a path, a function that
    finds one (opt_einsum's do), or a :class:`Plan`. With ``strict=False``, labels of size 1 broadcast. The
    result has the dtype that the operands promote to; integers wrap in it.

    >>> tn.einsum("ij,j->i", tn.eye(2), tn.asarray([1.0, 2.0])).tolist()
    [1.0, 2.0]
    """
    tensors, equation = _read(arguments)
    if isinstance(optimize, Plan):
        if optimize.equation != equation:
            raise ValueError(f"einsum: the plan is for {optimize.equation}, the call for {equation}.")
        return optimize(*tensors)
    plan = _plan(equation, tuple(tuple(x.shape) for x in tensors), strict, optimize)
    if isinstance(arguments[0], str) and len(tensors) == 2:
        _remember(arguments[0], plan)
    return plan.run(promoted(*tensors))


def _remember(equation: str, plan: Plan) -> None:
    """Lets the native function take such a call next time, if it is one product and nothing else."""
    (step,) = plan.steps
    plain = plan.prepared == [*plan.equation.inputs] and plan.result == plan.equation.output
    if plain and step.operands == (0, 1):
        a, b = step.labels
        _core.remember_product(equation, len(a), len(b), *step.contract, *step.batch)


def contract_into(
    out: Tensor, equation: str, x1: Any, x2: Any, /, *, alpha: complex = 1.0, beta: complex = 0.0
) -> Tensor:
    """``out = alpha * einsum(equation, x1, x2) + beta * out``, in the memory of ``out``, which it returns.

    ``out`` has the dtype of the operands and the shape of the result, in any strides, and shares no memory
    with an operand. With ``beta=0`` it is not read: NaN in it does not matter. Nothing is recorded: operands
    must not be tracked. ``alpha`` and ``beta`` are real unless the dtype is complex, and for integers 1, and
    0 or 1.

    >>> out = tn.ones((2, 2))
    >>> tn.contract_into(out, "ij,jk->ik", tn.eye(2), tn.eye(2), alpha=2.0, beta=1.0).tolist()
    [[3.0, 1.0], [1.0, 3.0]]
    """
    tensors = promoted(asarray(x1), asarray(x2))
    parsed = parse(equation, tuple(x.ndim for x in tensors))
    _check_factors(tensors[0].dtype.kind, alpha, beta)
    plan = _plan(parsed, tuple(tuple(x.shape) for x in tensors), True, "auto")
    if not isinstance(out, Tensor):
        raise TypeError(f"contract_into: out must be a Tensor, got {type(out).__name__}.")
    if tuple(out.shape) != plan.shape:
        raise ValueError(f"contract_into: out must have the shape {plan.shape}, got {tuple(out.shape)}.")
    plan.run_into(out, tensors, complex(alpha), complex(beta))
    return out


def _check_factors(kind: str, alpha: complex, beta: complex) -> None:
    allowed = kind == "c" or complex(alpha).imag == complex(beta).imag == 0
    if kind not in "fc":
        allowed = alpha == 1 and beta in (0, 1)
    if not allowed:
        rule = "real for real dtypes" if kind == "f" else "1, and 0 or 1, for integers"
        raise ValueError(f"contract_into: alpha and beta must be {rule}, got {alpha} and {beta}.")


def einsum_plan(*arguments: Any, optimize: Any = "auto", strict: bool = True) -> Plan:
    """The plan for an equation and shapes (or tensors): it prints itself, and is called with tensors.

    >>> plan = tn.einsum_plan("ij,jk,kl->il", (2, 3), (3, 4), (4, 5))
    >>> plan(tn.ones((2, 3)), tn.ones((3, 4)), tn.ones((4, 5))).shape
    (2, 5)
    """
    if not arguments or not isinstance(arguments[0], str):
        raise TypeError("einsum_plan: the first argument must be an equation such as 'ij,jk->ik'.")
    shapes = tuple(tuple(s.shape) if hasattr(s, "shape") else tuple(s) for s in arguments[1:])
    return make_plan(parse(arguments[0], tuple(map(len, shapes))), shapes, strict, optimize)


def einsum_path(*arguments: Any, optimize: Any = "auto", strict: bool = True) -> tuple[Path, str]:
    """The path, and the plan as text.

    >>> tn.einsum_path("ij,jk->ik", tn.eye(2), tn.eye(2))[0]
    [(0, 1)]
    """
    tensors, equation = _read(arguments)
    plan = make_plan(equation, [tuple(x.shape) for x in tensors], strict, optimize)
    return plan.path, str(plan)
