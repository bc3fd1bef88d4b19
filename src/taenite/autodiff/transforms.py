"""``vjp``, ``jvp``, ``grad`` and ``value_and_grad``. Each opens a level (see ``native/tape/value.h``), so
they nest in any order, over closures too, and never confuse their perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from taenite import _core
from taenite._core import Tensor
from taenite.ops.convert import as_tuple, asarray, whole
from taenite.tree import flatten, paths, unflatten


@contextmanager
def _level() -> Iterator[int]:
    level = _core.open_level()
    try:
        yield level
    finally:
        _core.close_level(level)


def _tensor_leaves(tree: Any, who: str, what: str) -> tuple[list[Tensor], Any]:
    """The leaves as tensors that can be differentiated."""
    leaves, structure = flatten(tree)
    tensors = [asarray(leaf) for leaf in leaves]
    for i, tensor in enumerate(tensors):
        if tensor.dtype.kind not in "fc":
            path = paths(tree)[i]
            raise TypeError(f"{who}: {what}{path} must be of a floating-point dtype, got {tensor.dtype}.")
    return tensors, structure


def _outputs(tree: Any, who: str) -> tuple[list[Tensor], Any]:
    leaves, structure = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor | int | float | complex):
            raise TypeError(f"{who}: the function must return tensors, got {type(leaf).__name__}.")
    return [asarray(leaf) for leaf in leaves], structure


def _matching(tree: Any, likes: list[Tensor], structure: Any, who: str, what: str) -> list[Tensor]:
    """The leaves of a tree of tangents or cotangents, checked against what they belong to."""
    leaves, given = flatten(tree)
    if given != structure:
        raise TypeError(f"{who}: {what} must have the structure {structure}, got {given}.")
    out = []
    for leaf, like in zip(leaves, likes, strict=True):
        tensor = asarray(leaf)
        if tuple(tensor.shape) != tuple(like.shape):
            raise ValueError(f"{who}: {what} must have the shape {like.shape}, got {tensor.shape}.")
        if tensor.dtype is not like.dtype:
            if tensor.dtype.kind == "c" and like.dtype.kind != "c":
                raise TypeError(f"{who}: {what} must be real like its value, got {tensor.dtype}.")
            tensor = tensor.astype(like.dtype)
        out.append(tensor)
    return out


class _Recording:
    """A function that ran once with tracked inputs, and the graph that it left."""

    def __init__(
        self, f: Callable[..., Any], primals: Sequence[Any], who: str, has_aux: bool = False
    ) -> None:
        self.who = who
        values, self.in_structure = _tensor_leaves(tuple(primals), who, "arguments")
        self.primals = values
        with _level() as level:
            self.leaves = [_core.track(value, level) for value in values]
            result = f(*unflatten(self.in_structure, self.leaves))
            if has_aux:
                result, aux = result
                self.aux = self._untracked(aux, level)
            self.outputs, self.out_structure = _outputs(result, who)
            self.live = [_core.is_tracked_at(y, level) for y in self.outputs]
            self.values = [
                _core.lower(y) if live else y for y, live in zip(self.outputs, self.live, strict=True)
            ]

    @staticmethod
    def _untracked(tree: Any, level: int) -> Any:
        leaves, structure = flatten(tree)
        return unflatten(
            structure,
            [
                _core.lower(x) if isinstance(x, Tensor) and _core.is_tracked_at(x, level) else x
                for x in leaves
            ],
        )

    def pull(self, cotangents: list[Tensor], retain: bool) -> list[Tensor]:
        pairs = [(y, ct) for y, ct, live in zip(self.outputs, cotangents, self.live, strict=True) if live]
        found: list[Tensor | None] = [None] * len(self.leaves)
        if pairs:
            found = _core.pull([y for y, _ in pairs], [ct for _, ct in pairs], self.leaves, retain)
        return [zeros_like(x) if g is None else g for x, g in zip(self.primals, found, strict=True)]


def zeros_like(x: Tensor) -> Tensor:
    """A zero of this shape and dtype, which takes no memory to speak of."""
    return _core.zeros_like(x)


def vjp(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """``f(*primals)`` and the function that pulls a cotangent of it back to the primals.

    The pullback takes a tree like the value and gives a tuple, one entry for each primal; it may be called
    more than once. Cotangents pair with tangents by ``Re(conj(a) b)``.

    Raises
    ------
    TypeError
        A primal is not of a floating-point dtype, or the cotangent has another structure than the value.
    ValueError
        A cotangent has another shape than the value.

    >>> y, pullback = tn.vjp(lambda x: x * x, 3.0)
    >>> pullback(1.0)[0].item()
    6.0
    """
    recording = _Recording(f, primals, "vjp")

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        cts = _matching(cotangent, recording.values, recording.out_structure, "vjp", "the cotangent")
        result: tuple[Any, ...] = unflatten(recording.in_structure, recording.pull(cts, retain=True))
        return result

    return unflatten(recording.out_structure, recording.values), pullback


def _as_tuple(given: Any, name: str) -> tuple[Any, ...]:
    if not isinstance(given, tuple | list):
        raise TypeError(f"jvp: {name} must be a tuple with an entry for each argument, got {given!r}.")
    return tuple(given)


def jvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """``f(*primals)`` and its derivative in the direction of the tangents, in one forward pass.

    Raises
    ------
    TypeError
        A primal is not of a floating-point dtype, or the tangents have another structure than the primals.
    ValueError
        A tangent has another shape than its primal.

    >>> y, dy = tn.jvp(lambda x: x * x, (3.0,), (1.0,))
    >>> dy.item()
    6.0
    """
    values, structure = _tensor_leaves(_as_tuple(primals, "primals"), "jvp", "primals")
    directions = _matching(_as_tuple(tangents, "tangents"), values, structure, "jvp", "tangents")
    with _level() as level:
        duals = [_core.make_dual(x, t, level) for x, t in zip(values, directions, strict=True)]
        outputs, out_structure = _outputs(f(*unflatten(structure, duals)), "jvp")
        dual = [_core.is_dual_at(y, level) for y in outputs]
        ys = [_core.lower(y) if d else y for y, d in zip(outputs, dual, strict=True)]
        dys = [_core.tangent_of(y) if d else zeros_like(y) for y, d in zip(outputs, dual, strict=True)]
    return unflatten(out_structure, ys), unflatten(out_structure, dys)


def value_and_grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., tuple[Any, Any]]:
    """The function that returns ``f``'s value and its gradient with respect to the arguments ``argnums``.

    ``f`` returns a real scalar, or with ``has_aux`` a pair of one and anything else. The gradient of a
    complex argument is the direction of steepest ascent (PyTorch's convention; JAX's is its conjugate).

    Raises
    ------
    TypeError
        The value is complex, or an argument is not of a floating-point dtype.
    ValueError
        The value has more than one element.

    >>> value, g = tn.value_and_grad(lambda x: (x * x).sum())(tn.asarray([1.0, 2.0]))
    >>> value.item(), g.tolist()
    (5.0, [2.0, 4.0])
    """
    which = tuple(whole(i, "grad", "argnums") for i in as_tuple(argnums))

    @wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen = _chosen(args, which)

        def of_chosen(*values: Any) -> Any:
            full = list(args)
            for i, value in zip(which, values, strict=True):
                full[i] = value
            return f(*full, **kwargs)

        recording = _Recording(of_chosen, chosen, "grad", has_aux)
        loss = _scalar_loss(recording)
        gradients = unflatten(recording.in_structure, recording.pull([_core.one_like(loss)], retain=False))
        g = gradients if isinstance(argnums, Iterable) else gradients[0]
        return ((loss, recording.aux) if has_aux else loss), g

    return wrapped


def _chosen(args: tuple[Any, ...], which: tuple[int, ...]) -> list[Any]:
    for i in which:
        if not -len(args) <= i < len(args):
            raise ValueError(f"grad: argnums must be positions of arguments; there are {len(args)}, got {i}.")
    return [args[i] for i in which]


def _scalar_loss(recording: _Recording) -> Tensor:
    if len(recording.values) != 1:
        raise TypeError(
            f"grad: the function must return one tensor, got {len(recording.values)}; see has_aux."
        )
    (loss,) = recording.values
    if loss.size != 1:
        raise ValueError(f"grad: the function must return a scalar, got shape {loss.shape}; use vjp.")
    if loss.dtype.kind == "c":
        raise TypeError(f"grad: the function must return a real value, got {loss.dtype}; use vjp.")
    return loss


def grad(
    f: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The gradient of a function that returns a real scalar; arguments and errors as for `value_and_grad`.

    >>> tn.grad(lambda x: tn.sin(x))(0.0).item()
    1.0
    """
    both = value_and_grad(f, argnums, has_aux)

    @wraps(f)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        value, g = both(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return wrapped
