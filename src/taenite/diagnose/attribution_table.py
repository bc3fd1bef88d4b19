"""An attribution in a terminal: a line per quantity, a column per arm."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from . import categories
from .attribute import Attribution, Found
from .calls import Calls, Observed
from .controls import Control
from .instructions import Instructions
from .operation import VOLUMES

Line = list[str]
NONE = "-"
VERDICTS = {"ok": "green", "failed": "red", "-": "dim"}


def show(console: Console, found: Attribution) -> None:
    console.print(title(found), highlight=False, markup=False)
    table = Table(box=SIMPLE_HEAD)
    table.add_column("per operation", no_wrap=True)
    for one in found.arms:
        table.add_column(one.arm.label.replace(" ", "\n"), justify="right", no_wrap=True)
    for section in (calls(found.arms), counts(found.arms)):
        for line in section:
            table.add_row(*line)
        if section:
            table.add_section()
    console.print(table)
    show_judgement(console, found)


def title(found: Attribution) -> str:
    threads = found.work.threads
    return f"{found.work.row}, {threads} thread{'s' if threads > 1 else ''}"


def calls(arms: list[Found]) -> list[Line]:
    """The instrument of calls, if any arm has it."""
    if not any(one.calls for one in arms):
        return []

    def line(name: str, text: Callable[[Calls], str]) -> Line:
        return [name, *(text(one.calls) if one.calls else NONE for one in arms)]

    def seen(name: str, text: Callable[[Observed], str]) -> Line:
        return line(name, lambda c: text(c.observed) if c.observed else NONE)

    return [
        line("time, ms", lambda c: f"{c.time_s * 1e3:.4g}"),
        seen("inside calls, ms", lambda o: f"{sum(o.seconds.values()) * 1e3:.4g}"),
        line("time / inside calls", lambda c: f"{c.over_floor:.3f}" if c.over_floor else NONE),
        *(seen(text, counter(text)) for text in called(arms)),
        *(seen(f"workspace of {routine}", workspace(routine)) for routine in working(arms)),
        *(seen(kind, volume(kind)) for kind in VOLUMES),
        seen("workspace queries", lambda o: str(o.workspace_queries)),
    ]


def called(arms: list[Found]) -> list[str]:
    """Every kind of call of any arm, once."""
    return list(dict.fromkeys(str(call) for one in observations(arms) for call in one.calls))


def working(arms: list[Found]) -> list[str]:
    """Every routine that was given a workspace."""
    return list(dict.fromkeys(routine for one in observations(arms) for routine in one.workspaces))


def observations(arms: list[Found]) -> list[Observed]:
    return [one.calls.observed for one in arms if one.calls and one.calls.observed]


def counter(text: str) -> Callable[[Observed], str]:
    return lambda o: next((f"{call.count} calls" for call in o.calls if str(call) == text), "0")


def volume(kind: str) -> Callable[[Observed], str]:
    return lambda o: bytes_of(*o.volumes[kind])


def workspace(routine: str) -> Callable[[Observed], str]:
    return lambda o: bytes_of(*o.workspaces.get(routine, (0, 0)))


def bytes_of(count: int, size: int) -> str:
    return f"{count}, {size:,} B" if count else "0"


def counts(arms: list[Found]) -> list[Line]:
    """The instrument of instructions, if any arm has it; a category that is empty everywhere is left out."""
    if not any(one.instructions for one in arms):
        return []

    def line(name: str, value: Callable[[Instructions], float]) -> Line:
        return [name, *(f"{value(one.instructions):,.0f}" if one.instructions else NONE for one in arms)]

    return [
        line("instructions", lambda i: i.total),
        *(line(f"  {name}", category(name)) for name in used(arms)),
        line("inside provider's entry points", lambda i: i.inside),
        *(line(f"  {name}", entry(name)) for name in entered(arms)),
        line("outside of them", lambda i: i.outside),
    ]


def category(name: str) -> Callable[[Instructions], float]:
    return lambda i: i.by_category[name]


def entry(name: str) -> Callable[[Instructions], float]:
    return lambda i: sum(one.inclusive for one in i.entries if one.function == name)


def used(arms: list[Found]) -> Iterable[str]:
    for one in categories.default().categories:
        if any(found.instructions and found.instructions.by_category[one.name] for found in arms):
            yield one.name


def entered(arms: list[Found]) -> list[str]:
    found = (entry.function for one in arms if one.instructions for entry in one.instructions.entries)
    return list(dict.fromkeys(found))


def show_judgement(console: Console, found: Attribution) -> None:
    """Controls, what was refused, on which SIMD level it ran, notes."""
    for one in found.arms:
        for control in (c for c in one.controls if c.verdict != "-"):
            say(
                console,
                f"{one.arm.label}: {control.name}: {control.verdict}: {control.text}",
                control.verdict,
            )
        for instrument, why in one.refused.items():
            say(console, f"{one.arm.label}: {instrument}: {why}", "failed")
        if one.calls and one.calls.reason:
            say(console, f"note: {one.calls.reason}", "")
        for text in levels(one):
            say(console, f"{one.arm.label}: {text}", "")
    for control in found.controls:
        judged(console, control.name, control)
    for text in found.notes:
        say(console, f"note: {text}", "")


def judged(console: Console, name: str, control: Control) -> None:
    say(console, f"{name}: {control.verdict}: {control.text}", control.verdict)


def levels(found: Found) -> Iterable[str]:
    """The SIMD level of each instrument."""
    named: dict[str, Calls | Instructions | None] = {"time": found.calls, "instructions": found.instructions}
    for instrument, one in named.items():
        if one is not None:
            mine = [one.simd["taenite"]] if found.arm.ours else []
            torch = [one.simd["torch"]] if "torch" in one.simd else []
            blas = [str(library["architecture"]) for library in one.libraries if "architecture" in library]
            processor = " ".join(one.simd["processor"])
            yield f"{instrument} on {processor}; kernels: {', '.join([*mine, *torch, *blas]) or 'its own'}"


def say(console: Console, text: str, verdict: str) -> None:
    console.print(text, style=VERDICTS.get(verdict, ""), highlight=False, markup=False)
