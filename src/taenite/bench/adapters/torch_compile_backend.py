"""PyTorch through `torch.compile`: the whole formula must become one graph, else the row is unsupported."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import torch
from torch._dynamo.exc import BackendCompilerFailed, TorchDynamoException

from ..case import Fixture, Row
from . import torch_backend
from .base import Prepared, Unsupported, call_statement
from .transforms import arguments, transformed

REQUIRES = "torch"


class Backend(torch_backend.Backend):
    """PyTorch with Inductor; backward rows compile forward and backward, then run ``loss.backward()``."""

    name = "torch_compile"
    compiles = True

    def prepare(self, row: Row, fixture: Fixture) -> Prepared:
        if not any(map(shutil.which, (os.environ.get("CXX", "g++"), "clang++"))):
            raise Unsupported("torch.compile needs a C++ compiler on PATH, or named by CXX")
        if row.case.destination:
            raise Unsupported("a compiled function makes its outputs")
        torch.compiler.reset()
        try:
            return self.compiled(row, fixture)
        except (TorchDynamoException, BackendCompilerFailed) as error:
            reason = str(error).strip().splitlines()[0]
            raise Unsupported(f"torch.compile makes no single graph of it: {reason}") from error

    def compiled(self, row: Row, fixture: Fixture) -> Prepared:
        """The prepared row, called once: what cannot be compiled shows here and not inside the clock."""
        if row.phase in ("vjp", "jvp", "hvp"):
            function = torch.compile(transformed(self.ad, self.xp, row, self.name), fullgraph=True)
            args = tuple(self.tensor(x) for x in arguments(row, fixture))
            prepared = call_statement(lambda: function(*args), self.to_numpy)
        else:
            prepared = super().prepare(of_one_graph(row), fixture)
        prepared.names["call"]()
        return prepared


def of_one_graph(row: Row) -> Row:
    """The row with its formula compiled."""
    formula = row.case.formula
    graph = torch.compile(lambda *xs: formula(torch_backend.xp, *xs), fullgraph=True)
    return replace(row, case=replace(row.case, formula=lambda _, *xs: graph(*xs), inline=None))
