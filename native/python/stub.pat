# What nanobind's stubgen cannot know: operators that are type slots, and the types behind nanobind's `object`.
# tools/stub.py reads it. A binding that is not here is typed by its own signature.

^taenite._core.__prefix__$:
    \from typing import Any, overload
    \from collections.abc import Callable, Sequence
    \from types import EllipsisType
    \from contextvars import ContextVar
    \from taenite.dtypes import DType

# ---- Tensor

^taenite._core.Tensor.__(eq|ne)__$:
    def __\1__(self, other: object, /) -> Tensor: ...  # type: ignore[override]

^taenite._core.Tensor.__(pow|rpow)__$:
    def __\1__(self, other: Any, /) -> Tensor: ...

^taenite._core.Tensor.__(neg|pos|abs|invert)__$:
    def __\1__(self) -> Tensor: ...

^taenite._core.Tensor.__(bool|int|float|complex)__$:
    def __\1__(self) -> \1: ...

^taenite._core.Tensor.__index__$:
    def __index__(self) -> int: ...

^taenite._core.Tensor.__hash__$:
    __hash__: None  # type: ignore[assignment]

^taenite._core.Tensor.__(matmul|rmatmul|lt|le|gt|ge|r?add|r?sub|r?mul|r?truediv|r?floordiv|r?mod|r?and|r?or|r?xor|r?lshift|r?rshift)__$:
    def __\1__(self, other: Any, /) -> Tensor: ...

^taenite._core.Tensor.__delitem__$:

^taenite._core.Tensor.__getitem__$:
    def __getitem__(self, key: Any, /) -> Tensor: ...

^taenite._core.Tensor.__setitem__$:
    def __setitem__(self, key: Any, value: Any, /) -> None: ...

^taenite._core.Tensor.(T|mT)$:
    @property
    def \1(self) -> Tensor: ...

^taenite._core.Tensor.reshape$:
    def reshape(self, *shape: Any) -> Tensor: ...

^taenite._core.Tensor.transpose$:
    def transpose(self, *axes: Any) -> Tensor: ...

^taenite._core.Tensor.shape$:
    @property
    def shape(self) -> tuple[int, ...]: ...

^taenite._core.Tensor.strides$:
    @property
    def strides(self) -> tuple[int, ...]: ...

^taenite._core.Tensor.dtype$:
    @property
    def dtype(self) -> DType: ...

^taenite._core.Tensor.grad$:
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Tensor | None) -> None: ...

^taenite._core.Tensor.backward$:
    def backward(self, seed: Tensor | None = None, retain_graph: bool = False) -> None: ...

^taenite._core.Tensor.detach$:
    def detach(self) -> Tensor: ...

^taenite._core.Tensor.item$:
    def item(self) -> Any: ...

^taenite._core.Tensor.__suffix__$:
    def __buffer__(self, flags: int, /) -> memoryview: ...

# ---- Size, Function

^taenite._core.Size.__(r?add|r?sub|r?mul|r?floordiv|r?mod|r?truediv|r?pow)__$:
    def __\1__(self, other: Any, /) -> Any: ...

^taenite._core.Size.__(lt|le|gt|ge)__$:
    def __\1__(self, other: Any, /) -> bool: ...

^taenite._core.Size.__(neg)__$:
    def __\1__(self) -> Any: ...

^taenite._core.Size.__(index|int|hash)__$:
    def __\1__(self) -> int: ...

^taenite._core.Function$:
    class Function:
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

^taenite._core.(make_matmul|make_einsum)$:
    def \1(fallback: Callable[..., Any], /) -> Any: ...

^taenite._core.remember_product$:
    def remember_product(equation: str, *ranks_and_axes: Any) -> None: ...

^taenite._core.make_function$:
    def make_function(
        primitive: Primitive, fallback: Callable[..., Any], reduces: bool = False
    ) -> Callable[..., Any]: ...

# ---- graphs

^taenite._core.Trace.input$:
    def input(self, like: Tensor) -> Tensor: ...

^taenite._core.Trace.export$:
    def export(self) -> tuple[Any, ...]: ...

^taenite._core.Executable.__call__$:
    def __call__(self, operands: list[Tensor]) -> list[Any]: ...

^taenite._core.Executable.inline$:
    def inline(self, operands: list[Tensor]) -> list[Any]: ...

^taenite._core.Executable.graph$:
    @property
    def graph(self) -> Any: ...

^taenite._core.add_branch$:
    def add_branch(executable: Executable, recipe: Callable[[list[Tensor]], Executable] | None = None) -> int: ...

^taenite._core.count_branches$:
    def count_branches(executables: list[Executable]) -> int: ...

^taenite._core.branch_like$:
    def branch_like(id: int, operands: list[Tensor]) -> Executable: ...

^taenite._core.Variants.add$:
    def add(
        self,
        executable: Executable,
        types: Any,
        captured: list[Tensor],
        kind: int,
        unflatten: Callable[..., Any],
        /,
    ) -> None: ...

^taenite._core.Variants.run$:
    def run(self, operands: list[Tensor], /) -> Any: ...

^taenite._core.PreparedBase.__init__$:
    def __init__(
        self,
        executable: Executable,
        types: Any,
        captured: list[Tensor],
        kind: int,
        unflatten: Callable[..., Any],
        positional: bool,
        /,
    ) -> None: ...

^taenite._core.PreparedBase.__call__$:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

^taenite._core.CompiledBase.variants_of$:
    def variants_of(self, count: int) -> Variants: ...

^taenite._core.CompiledBase.__call__$:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

^taenite._core.set_graph_hooks$:
    def set_graph_hooks(derive: Callable[..., Any], folder: str, /) -> None: ...

^taenite._core.Tensor.size$:
    @property
    def size(self) -> int: ...

# ---- functions of the module

^taenite._core.(tangent_of|lower|bare|zeros_like|one_like|variable)$:
    def \1(x: Tensor, /) -> Tensor: ...

^taenite._core.track$:
    def track(x: Tensor, level: int, /) -> Tensor: ...

^taenite._core.make_dual$:
    def make_dual(x: Tensor, tangent: Tensor, level: int, /) -> Tensor: ...

^taenite._core.from_buffer$:
    def from_buffer(source: object) -> Tensor: ...

^taenite._core.hint_shape$:
    def hint_shape(x: Tensor, /) -> tuple[int, ...]: ...

^taenite._core.pull$:
    def pull(
        outputs: list[Tensor], cotangents: list[Tensor], leaves: list[Tensor], retain: bool, /
    ) -> list[Tensor | None]: ...

^taenite._core.Primitive.infer$:
    def infer(
        self,
        types: Sequence[tuple[DType, Sequence[int]]],
        attrs: tuple[int | Sequence[int], ...],
        sizes: tuple[int, ...],
        mask: int,
    ) -> list[tuple[DType, tuple[int, ...]]]: ...

^taenite._core.bind$:
    def bind(
        primitive: Primitive,
        operands: tuple[Tensor, ...],
        attrs: tuple[int | Sequence[int], ...] = (),
        sizes: tuple[Any, ...] = (),
        mask: int = -1,
    ) -> Any: ...

^taenite._core.primitive_names$:
    def primitive_names() -> list[str]: ...

^taenite._core.pool_stats$:
    def pool_stats() -> dict[str, int]: ...

^taenite._core.promote$:
    def promote(a: DType, b: DType, /) -> DType: ...

^taenite._core.set_dtype_objects$:
    def set_dtype_objects(dtypes: list[DType], /) -> None: ...

^taenite._core.set_error_classes$:
    def set_error_classes(*classes: type[Exception]) -> None: ...

^taenite._core.set_autodiff_hooks$:
    def set_autodiff_hooks(tracer: Callable[..., Any], ceiling: ContextVar[int], /) -> None: ...

^taenite._core.provider_set_finder$:
    def provider_set_finder(finder: Callable[..., Any], /) -> None: ...
