"""taenite, compiled: every row is one program, traced before the clock starts."""

from __future__ import annotations

import taenite as tn

from ..case import Fixture, Row
from . import eager_backend
from .base import Prepared
from .eager_backend import xp
from .transforms import arguments, transformed


class Backend(eager_backend.Backend):
    """taenite with its default provider, through `tn.compile`."""

    name = "compiled"
    compiles = True

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        function = tn.compile(transformed(tn, xp, row, "a compiled function"))
        args = tuple(self.tensor(x) for x in arguments(row, fixture))
        return Prepared({"function": function, "args": args}, self.to_numpy, "out = function(*args)")
