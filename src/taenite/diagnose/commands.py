"""``taenite affinity`` and ``taenite probe``: the commands."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from ..bench.cpus import expand_cpu_list
from ..bench.machine import affinity as allowed_cpus
from ..bench.machine import read
from . import affinity, child, probe, probe_file, show

# Everything from the first word that is not an option of ours belongs to the command, options included.
REST = {"allow_interspersed_args": False}
Command = Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command and its arguments.")]


def in_a_directory(path: Path | None) -> Path | None:
    """Refuse a file that could not be written before the command has run for hours."""
    if path is not None and not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no directory {path.parent}.")
    if path is not None and path.is_dir():
        raise typer.BadParameter(f"{path} is a directory; name a file in it.")
    return path


Json = Annotated[
    Path | None,
    typer.Option("--json", callback=in_a_directory, help="Write everything that was found to this file."),
]


def affinity_command(
    command: Command,
    cpus: Annotated[
        str | None, typer.Option(help="The domain, such as 0-3,8; default: our own CPUs.")
    ] = None,
    interval: Annotated[float, typer.Option(min=1, help="Milliseconds between samples.")] = 50.0,
    json_file: Json = None,
) -> None:
    """Run a command and watch where its threads, and those of its children, may run.

    Exits with the command's code; if that is 0, with 1 when a thread was confined below the domain or strayed
    outside of it.

    Example: taenite affinity --cpus 0-3 -- python train.py --epochs 1
    """
    require_linux("affinity")
    domain = chosen_domain(cpus)
    used = cpu_seconds_of_children()
    process = started(command)
    sampler = affinity.Sampler(process.pid)
    code = child.watch(process, interval / 1000, sampler.sample)
    found = affinity.as_json(sampler, domain, command, code, cpu_seconds_of_children() - used)
    show.affinity(console(), sampler, domain, found)
    write(json_file, found)
    raise typer.Exit(code or bool(found["faults"]))


def probe_command(
    command: Command,
    shapes: Annotated[bool, typer.Option("--shapes", help="A line for each shape.")] = False,
    json_file: Json = None,
) -> None:
    """Run a command, count and time the BLAS and LAPACK calls of all its processes. Exits with its code.

    Example: taenite probe --shapes -- python train.py --epochs 1
    """
    with TemporaryDirectory(prefix="taenite-probe-") as directory:
        begun = time.monotonic()
        process = started(command, watched(Path(directory)))
        code = child.wait(process)
        wall = time.monotonic() - begun
        processes = probe_file.read_all(Path(directory))
    said = probe.notes(processes, process.pid, command)
    found = probe.as_json(processes, said, command, code, wall)
    show.probe(console(), processes, said, shapes, wall)
    write(json_file, found)
    raise typer.Exit(code)


def watched(directory: Path) -> dict[str, str]:
    try:
        return probe.environment(directory, os.environ)
    except probe.NotHere as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error


def chosen_domain(text: str | None) -> set[int]:
    if text is None:
        return set(allowed_cpus())
    try:
        domain = expand_cpu_list(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--cpus") from error
    possible = expand_cpu_list(read("/sys/devices/system/cpu/possible") or f"0-{(os.cpu_count() or 1) - 1}")
    if not domain or domain - possible:
        raise typer.BadParameter(f"name CPUs that this machine has, got {text!r}.", param_hint="--cpus")
    return domain


def cpu_seconds_of_children() -> float:
    """CPU time of children that have ended, and of theirs for which they waited."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def started(command: list[str], environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    try:
        return child.start(command, environment)
    except child.CannotStart as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(error.code) from error


def require_linux(tool: str) -> None:
    if not sys.platform.startswith("linux"):
        typer.echo(f"taenite {tool} reads /proc, which only Linux has.", err=True)
        raise typer.Exit(2)


def console() -> Console:
    """Standard error: the command's own output stays as it is. A file's lines are not folded."""
    found = Console(stderr=True)
    return found if found.is_terminal else Console(stderr=True, width=160)


def write(path: Path | None, found: dict[str, Any]) -> None:
    if path is not None:
        path.write_text(json.dumps(found, indent=2) + "\n")
