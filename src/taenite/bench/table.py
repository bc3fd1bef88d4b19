"""The survey in a terminal, and the progress of a run: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from . import report
from .baseline import Change, counts
from .compare import Analysis
from .survey import Survey

STYLES = {"faster": "green", "slower": "red", "same": "", "inconclusive": "dim"}
PLAIN_EVERY_S = 10.0


def show(console: Console, analysis: Analysis, warnings: list[str]) -> None:
    survey = analysis.survey
    console.print(table_of(report.header(survey), report.body(analysis)))
    if means := report.means(analysis):
        console.print(table_of(report.means_header(survey), means))
    if toggles := analysis.toggles:
        console.print(table_of(report.VARIANTS_HEADER, report.variants(analysis, toggles)))
        for text in report.variant_means(toggles):
            console.print(text, highlight=False)
    console.print(report.null_sentence(analysis), highlight=False, soft_wrap=True)
    show_troubles(console, survey, warnings)


def show_changes(console: Console, found: list[Change]) -> None:
    console.print(table_of(report.CHANGES_HEADER, report.changes(found)))
    for text in report.change_means(found):
        console.print(text, highlight=False)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts(found).items())
    console.print(f"{len(found)} rows compared: {told}", highlight=False)


def table_of(header: list[str], body: list[list[str]]) -> Table:
    """Cells as a table; a line that ends in a verdict takes its colour."""
    table = Table(box=SIMPLE_HEAD)
    for index, name in enumerate(header):
        table.add_column(name, justify="left" if index == 0 else "right", no_wrap=True)
    for line in body:
        table.add_row(*line, style=STYLES.get(line[-1].split(" ")[0], ""))
    return table


def show_troubles(console: Console, survey: Survey, warnings: list[str]) -> None:
    for text in report.troubles(survey):
        console.print(text, style="red", highlight=False, markup=False)
    for text in survey.notes:
        console.print(f"note: {text}", highlight=False, markup=False)
    for text in warnings:
        console.print(f"warning: {text}", style="yellow", highlight=False, markup=False)


class BarProgress:
    """A progress bar on standard error."""

    def __init__(self) -> None:
        columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        self._bars = Bars(*columns, console=Console(stderr=True), transient=True)

    def start(self, total: int) -> None:
        self._bars.start()
        self._task = self._bars.add_task("", total=total)

    def advance(self, what: str) -> None:
        self._bars.update(self._task, advance=1, description=what)

    def stop(self) -> None:
        self._bars.stop()


class LineProgress:
    """A line on standard error every ten seconds."""

    def start(self, total: int) -> None:
        self._total, self._done, self._said = total, 0, time.monotonic()

    def advance(self, what: str) -> None:
        self._done += 1
        if time.monotonic() - self._said > PLAIN_EVERY_S or self._done == self._total:
            self._said = time.monotonic()
            print(f"{self._done}/{self._total} {what}", file=sys.stderr, flush=True)

    def stop(self) -> None:
        """Nothing to take down."""


def progress() -> BarProgress | LineProgress:
    return BarProgress() if sys.stderr.isatty() else LineProgress()
