"""taenite, compiled: every row is one program, traced before the clock starts."""

from __future__ import annotations

import taenite as tn

from ..case import Fixture, Row
from . import eager_backend
from .base import Prepared, Unsupported, call_statement
from .eager_backend import recorded, xp
from .transforms import arguments, transformed

REQUIRES = "taenite"


class Backend(eager_backend.Backend):
    """taenite with its default provider, through `tn.compile`."""

    name = "compiled"
    compiles = True

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        if row.case.destination:
            raise Unsupported("a program writes into memory of its own")
        if row.phase == "pullback":
            program = tn.compile(lambda *xs: row.case.formula(xp, *xs))
            return call_statement(recorded(row, program, self.operands(row, fixture)), self.to_numpy)
        function = tn.compile(transformed(tn, xp, row, "a compiled function"))
        args = tuple(self.tensor(x) for x in arguments(row, fixture))
        return Prepared({"function": function, "args": args}, self.to_numpy, "out = function(*args)")
