"""The native table of primitives, as the graph's tools look things up in it: by name."""

from __future__ import annotations

from taenite import _core

PRIMITIVES = {name: _core.primitive(name) for name in _core.primitive_names()}
ELEMENTWISE = frozenset(name for name, p in PRIMITIVES.items() if p.is_elementwise)
EFFECTS = frozenset(name for name, p in PRIMITIVES.items() if p.is_effect)
