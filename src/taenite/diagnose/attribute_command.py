"""``taenite attribute``: the command."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..bench import adapters, cases, machine
from ..bench.case import Case, Row, all_cases
from ..bench.commands import chosen_backends, include, wide_console
from . import attribution_table
from .arm import Arm, Refused, Work, numpys_library
from .attribute import Attribution, as_json, attribute
from .commands import Json

FAILED = 1
assert cases.__all__


def attribute_command(
    case: Annotated[str, typer.Argument(help="A case, as `taenite bench list` names it.")],
    backends: Annotated[str, typer.Option(help="Comma-separated.")] = "eager,compiled,numpy",
    shape: Annotated[str | None, typer.Option(help="The row's shape; default: the largest.")] = None,
    phase: Annotated[str | None, typer.Option(help="The row's phase; default: the first one.")] = None,
    gemm: Annotated[
        str | None,
        typer.Option(
            help="What taenite multiplies with, comma-separated for one arm each: native, a provider's "
            "name or path, or numpy for the library file that NumPy brings."
        ),
    ] = None,
    with_instructions: Annotated[bool, typer.Option("--instructions/--no-instructions")] = True,
    with_calls: Annotated[bool, typer.Option("--calls/--no-calls")] = True,
    threads: Annotated[int, typer.Option(min=1, help="Threads of every arm.")] = 1,
    profiles: Annotated[int, typer.Option(min=1, help="Profiles of each arm; two of them must agree.")] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds for one process.")] = 3600.0,
    instances: Annotated[
        Path | None, typer.Option(help="Directory of contractions in files; each is a case.")
    ] = None,
    adapter: Annotated[list[Path] | None, typer.Option(help="The file of a foreign backend.")] = None,
    json_file: Json = None,
) -> None:
    """Attribute the cost of an operation to provider calls and copies, and to instructions by category.

    Exits with 1 if an instrument refused, or a control failed.

    Examples: taenite attribute multiply; taenite attribute matmul --gemm native,numpy --backends eager,numpy
    """
    if threads > len(machine.affinity()):
        raise typer.BadParameter(f"{len(machine.affinity())} CPUs are allowed.", param_hint="--threads")
    include(adapter or [], instances)
    row, arms = chosen_row(case, phase, shape), chosen_arms(backends, gemm)
    with tempfile.TemporaryDirectory(prefix="taenite-attribute-") as directory:
        work = Work(row, threads, Path(directory), timeout)
        found = attributed(work, arms, with_calls, with_instructions, profiles)
    attribution_table.show(wide_console(), found)
    if json_file is not None:
        json_file.write_text(json.dumps(as_json(found), indent=1) + "\n")
    if found.failures:
        raise typer.Exit(FAILED)


def attributed(
    work: Work, arms: list[Arm], with_calls: bool, with_instructions: bool, profiles: int
) -> Attribution:
    try:
        return attribute(
            work,
            arms,
            with_calls=with_calls,
            with_instructions=with_instructions,
            profiles=profiles,
            say=lambda text: print(text, file=sys.stderr, flush=True),
        )
    except Refused as error:
        typer.echo(f"taenite attribute: {error}", err=True)
        raise typer.Exit(FAILED) from error


def chosen_row(name: str, phase: str | None, shape: str | None) -> Row:
    """The largest row that fits what was asked for, of the first phase and dtype."""
    found = [row for row in chosen_case(name).rows() if phase in (None, row.phase)]
    if not found:
        phases = ", ".join(chosen_case(name).phases)
        raise typer.BadParameter(f"{name} has no phase {phase!r}; it has {phases}.", param_hint="--phase")
    of_phase = [row for row in found if row.phase == found[0].phase]
    fitting = [row for row in of_phase if shape in (None, row.size.label)]
    if not fitting:
        shapes = "; ".join(dict.fromkeys(row.size.label for row in of_phase))
        raise typer.BadParameter(f"{name} has no shape {shape!r}; it has {shapes}.", param_hint="--shape")
    of_dtype = [row for row in fitting if row.dtype == fitting[0].dtype]
    return max(of_dtype, key=lambda row: row.work.flops + row.work.bytes)


def chosen_case(name: str) -> Case:
    for one in all_cases():
        if one.name == name:
            return one
    near = [one.name for one in all_cases() if name in one.name] or [one.name for one in all_cases()]
    raise typer.BadParameter(f"there is no case {name!r}; there are {', '.join(near)}.", param_hint="CASE")


def chosen_arms(backends: str, gemm: str | None) -> list[Arm]:
    """An arm per backend; ours once for each way to multiply."""
    names, _ = chosen_backends(backends)
    targets = [None] if gemm is None else [one.strip() for one in gemm.split(",")]
    if "numpy" in targets:
        require_numpys_library()
    arms = [Arm(name, one) for name in names for one in (targets if name in adapters.OURS else [None])]
    if len(set(arms)) != len(arms):
        raise typer.BadParameter("name each way to multiply once.", param_hint="--gemm")
    if gemm is not None and not any(arm.ours for arm in arms):
        raise typer.BadParameter("it is for eager and compiled only.", param_hint="--gemm")
    return arms


def require_numpys_library() -> None:
    try:
        numpys_library()
    except Refused as error:
        raise typer.BadParameter(str(error), param_hint="--gemm") from error
