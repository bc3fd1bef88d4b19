"""``taenite bench``: the commands."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from . import adapters, baseline, cases, conditions, html, machine, record, table, thresholds, validity
from .arms import ours
from .case import PHASES, rows, suites
from .cases import einsum
from .client import RowFailed, WorkerDied
from .compare import Analysis
from .run import NoWorker, choose, domain, run
from .survey import PROFILES, Settings, Survey
from .thresholds import Threshold, parse_threshold
from .toggles import KINDS, parse_toggles

app = typer.Typer(no_args_is_help=True, help="Measure taenite beside NumPy, JAX and PyTorch.")
assert cases.__all__

SLOWER, USAGE, INCOMPARABLE, WRONG, NOTHING, ERROR = 1, 2, 3, 4, 5, 6
"""Exit codes: a row of ours is slower than it may be; the command line was wrong; the bundles cannot be
compared; a value is wrong; nothing was measured; a row crashed, hung or raised."""
INTERRUPTED = 130


@app.command("list")
def list_cases() -> None:
    """Show suites, cases, phases and sizes."""
    for suite in suites():
        typer.echo(f"{suite}:")
        for case, chosen in groupby(rows(suite), lambda row: row.case):
            typer.echo(f"  {case.name}: {case.description}")
            for (phase, dtype), of_phase in groupby(chosen, lambda row: (row.phase, row.dtype)):
                unusual = "" if dtype == "float64" else f" {dtype}"
                typer.echo(f"    {phase}{unusual}: {'; '.join(row.size.label for row in of_phase)}")
    typer.echo("phases:")
    for phase, meaning in PHASES.items():
        typer.echo(f"  {phase}: {meaning}")


@app.command("run")
def run_command(
    suite: Annotated[list[str], typer.Argument(help="Suites, as `taenite bench list` names them.")],
    backends: Annotated[str | None, typer.Option(help="Comma-separated; default: all installed.")] = None,
    threads: Annotated[str, typer.Option(help="Comma-separated thread counts.")] = "1",
    profile: Annotated[str, typer.Option(help=f"One of {', '.join(PROFILES)}.")] = "quick",
    out: Annotated[Path | None, typer.Option(help="Directory of the bundle.")] = None,
    only: Annotated[str | None, typer.Option(help="Only rows whose name contains this text.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the order of rows and backends.")] = 1,
    toggle: Annotated[
        list[str] | None,
        typer.Option(help=f"NAME=VALUE: one more arm with this setting changed. NAME: {', '.join(KINDS)}."),
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Minutes after which no row is measured once more than it has to be.")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="PATTERN=PERCENT: how much slower than this run `check` lets such rows be."),
    ] = None,
    adapter: Annotated[
        list[Path] | None, typer.Option(help="File of a backend that is not part of taenite.")
    ] = None,
    instances: Annotated[
        Path | None,
        typer.Option(help="Directory of contractions in files, for the suites einsum and instances."),
    ] = None,
) -> None:
    """Measure suites and write a bundle.

    Examples: taenite bench run large_ad; taenite bench run micro --backends eager,numpy --profile full
    """
    include(adapter or [], instances)
    names, notes = chosen_backends(backends)
    settings = checked(suite, names, threads, profile, only, seed, toggle or [], budget, threshold or [])
    bundle = out or Path("results") / time.strftime(f"{'-'.join(suite)}-%Y%m%d-%H%M%S")
    if (bundle / "protocol.json").exists():
        raise typer.BadParameter(
            f"{bundle} holds a bundle already, or the protocol of a run that did not end: name another one.",
            param_hint="--out",
        )
    survey, warnings = finished(settings, notes, bundle)
    table.show(wide_console(), Analysis(survey), warnings)
    say_bundle(bundle)
    if code := outcome(survey):
        raise typer.Exit(code)


def outcome(survey: Survey) -> int:
    """The exit code of a run: the worst that happened."""
    if survey.count("wrong"):
        return WRONG
    if survey.count("error"):
        return ERROR
    return 0 if any(result.timed for result in survey.results.values()) else NOTHING


@app.command("report")
def report_command(bundle: Annotated[Path, typer.Argument(help="Directory of a bundle.")]) -> None:
    """Check a bundle's files, build report.md and report.html from them, and show the table."""
    survey, about, warnings = loaded(bundle)
    analysis = Analysis(survey)
    record.write_reports(bundle, analysis, about, warnings)
    table.show(wide_console(), analysis, warnings)
    say_bundle(bundle)


def say_bundle(bundle: Path) -> None:
    """Where the results are, and what is missing for more."""
    typer.echo(f"bundle: {bundle}")
    if lacking := html.missing():
        typer.echo(
            f"no report.html: install {' and '.join(lacking)}, then run `taenite bench report {bundle}`"
        )
    else:
        typer.echo(f"report: {bundle / 'report.html'}")


@app.command("compare")
def compare_command(
    now: Annotated[Path, typer.Argument(help="Directory of a bundle.")],
    then: Annotated[Path, typer.Argument(help="Directory of the bundle that it is compared with.")],
) -> None:
    """Compare two runs of one machine, row by row, and the peers too: they tell what the machine did.

    Exits with 3 if the runs cannot be compared.
    """
    survey, old = comparable(now, then)
    tell([text for _, text in baseline.library_changes(survey, old)])
    found = changed(survey, old)
    table.show_changes(wide_console(), found)


@app.command("check")
def check_command(
    bundle: Annotated[Path, typer.Argument(help="Directory of a bundle.")],
    against: Annotated[Path, typer.Option(help="Directory of the baseline's bundle.")],
    allow_library_change: Annotated[
        bool, typer.Option(help="Compare although a backend of ours ran other libraries then.")
    ] = False,
    allow_missing: Annotated[
        bool, typer.Option(help="Compare although rows of the baseline have no time now.")
    ] = False,
) -> None:
    """Exit with 1 if a row of ours became slower than the baseline's thresholds and the noise allow.

    Other exit codes: 2 usage, 3 not comparable, 4 a wrong value, 5 nothing measured, 6 a row in error.
    """
    survey, _, _ = loaded(bundle)
    for status, code in (("wrong", WRONG), ("error", ERROR)):
        if failed := baseline.mine(survey, status):
            tell([f"{result.row} on {result.backend}: {status}: {result.note}" for result in failed])
            raise typer.Exit(code)
    if not any(result.timed for result in survey.results.values()):
        tell([f"{bundle} has no row with a time: look at its warnings with `taenite bench report {bundle}`"])
        raise typer.Exit(NOTHING)
    survey, old = comparable(bundle, against)
    require_same(survey, old, allow_library_change, allow_missing)
    found = changed(survey, old, thresholds.from_document(record.load_protocol(against)["thresholds"]))
    if slower := baseline.regressions(survey, found):
        table.show_changes(wide_console(), slower)
        raise typer.Exit(SLOWER)
    typer.echo(f"{len(found)} rows compared, none of ours is slower")


def require_same(now: Survey, then: Survey, allow_library_change: bool, allow_missing: bool) -> None:
    """Exit unless our backends ran the same libraries, and everything that the baseline has a time for."""
    subject = ours(now.settings.backends)
    other = [text for arm, text in baseline.library_changes(now, then) if arm in subject]
    if other and not allow_library_change:
        tell([*other, "measure the baseline again, or allow it with --allow-library-change"])
        raise typer.Exit(INCOMPARABLE)
    gone = [f"{result.row} on {result.backend}: has no time now" for result in baseline.lost(now, then)]
    if gone and not allow_missing:
        tell([*gone, "measure what the baseline measured, or allow it with --allow-missing"])
        raise typer.Exit(INCOMPARABLE)


def tell(lines: Sequence[str]) -> None:
    """Lines for people, where they do not disturb what is read by programs."""
    for line in lines:
        typer.echo(line, err=True)


def loaded(bundle: Path) -> tuple[Survey, dict[str, Any], list[str]]:
    try:
        return record.load(bundle)
    except record.OtherSchema as error:
        tell([str(error)])
        raise typer.Exit(INCOMPARABLE) from error
    except record.BadBundle as error:
        raise typer.BadParameter(str(error)) from error


def comparable(now: Path, then: Path) -> tuple[Survey, Survey]:
    """Both surveys, if they are of one machine; how their protocols and warnings differ is told."""
    (survey, about, warnings), (old, old_about, old_warnings) = loaded(now), loaded(then)
    try:
        baseline.require_same_machine(about, old_about)
    except baseline.NotComparable as error:
        tell([f"not comparable: {error}"])
        raise typer.Exit(INCOMPARABLE) from error
    for path, found in ((now, warnings), (then, old_warnings)):
        if found:
            tell([f"{path} is not valid ({len(found)} warnings): {found[0]}"])
    tell(list(baseline.differences(survey, old)))
    return survey, old


def changed(now: Survey, then: Survey, allowed: Sequence[Threshold] | None = None) -> list[baseline.Change]:
    """All changes; what the controls say of the machine is told first."""
    tell([str(shift) for shift in baseline.shifts(now, then)])
    try:
        return baseline.changes(now, then, allowed)
    except baseline.NotComparable as error:
        tell([f"not comparable: {error}"])
        raise typer.Exit(INCOMPARABLE) from error


def wide_console() -> Console:
    """The table is not folded when the output is a file."""
    console = Console()
    return console if console.is_terminal else Console(width=200)


def finished(settings: Settings, notes: list[str], bundle: Path) -> tuple[Survey, list[str]]:
    """The survey, unless it cannot go on: then a message and an exit code."""
    try:
        return measured(settings, notes, bundle)
    except (NoWorker, WorkerDied, RowFailed) as error:
        unfinished(bundle, f"{error}; leave its backend out with --backends, or mend it")
        raise typer.Exit(ERROR) from error
    except KeyboardInterrupt as error:
        unfinished(bundle, "interrupted")
        raise typer.Exit(INTERRUPTED) from error


def unfinished(bundle: Path, why: str) -> None:
    tell([f"bench run: {why}. Nothing was recorded: {bundle} holds the protocol alone and can be removed."])


def measured(settings: Settings, notes: list[str], bundle: Path) -> tuple[Survey, list[str]]:
    about, ticks, start = machine.describe(), conditions.stolen_ticks(), time.monotonic()
    try:
        record.begin(bundle, settings, about)
    except OSError as error:
        raise typer.BadParameter(
            f"{bundle} cannot be written: {error.strerror}; name another directory.", param_hint="--out"
        ) from error
    shown = table.progress()
    try:
        survey = run(settings, shown)
    finally:
        shown.stop()
    survey.notes += notes
    warnings = validity.check(survey, about, stolen_fraction(ticks, time.monotonic() - start))
    record.write(bundle, survey, about, warnings)
    return survey, warnings


def stolen_fraction(ticks_before: int | None, seconds: float) -> float | None:
    now = conditions.stolen_ticks()
    if ticks_before is None or now is None:
        return None
    return (now - ticks_before) / (conditions.ticks_per_second() * seconds * len(machine.affinity()))


def include(files: list[Path], instances: Path | None) -> None:
    """Foreign backends and contractions, by environment variables so that workers find them too."""
    if files:
        known = filter(None, os.environ.get(adapters.FILES, "").split(os.pathsep))
        os.environ[adapters.FILES] = os.pathsep.join([*known, *(str(path.resolve()) for path in files)])
    try:
        adapters.sources()
        if instances is not None and os.environ.get(einsum.INSTANCES) != str(instances.resolve()):
            einsum.register_instances(instances)
            os.environ[einsum.INSTANCES] = str(instances.resolve())
    except (adapters.BadAdapter, einsum.BadInstance) as error:
        raise typer.BadParameter(str(error)) from error


def chosen_backends(text: str | None) -> tuple[list[str], list[str]]:
    """The backends to run, and a note for each that is left out because it is not installed."""
    if text is None:
        names = [name for name in adapters.DEFAULT if adapters.available(name)]
        missing = [name for name in adapters.DEFAULT if name not in names]
        return names, [f"{name} is not installed; it is left out" for name in missing]
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in adapters.sources():
            raise typer.BadParameter(
                f"{name!r} is unknown; there are {', '.join(adapters.sources())}.", param_hint="--backends"
            )
        if not adapters.available(name):
            raise typer.BadParameter(f"{name!r} is not installed.", param_hint="--backends")
    if not names or len(set(names)) != len(names):
        raise typer.BadParameter("name each backend once.", param_hint="--backends")
    return names, []


def checked(
    suite: list[str],
    backends: list[str],
    threads: str,
    profile: str,
    only: str | None,
    seed: int,
    toggles: list[str],
    budget: float | None,
    declared: list[str],
) -> Settings:
    """Settings, or a usage error that names the option."""
    if unknown := [name for name in suite if name not in suites()]:
        raise typer.BadParameter(f"unknown {unknown}; there are {', '.join(suites())}.", param_hint="SUITE")
    if profile not in PROFILES:
        raise typer.BadParameter(f"one of {', '.join(PROFILES)}.", param_hint="--profile")
    if budget is not None and not budget > 0:
        raise typer.BadParameter(f"minutes, more than 0, got {budget:g}.", param_hint="--budget")
    try:
        counts = thread_counts(threads)
        settings = Settings(
            suites=tuple(suite),
            backends=tuple(backends),
            threads=counts,
            profile=PROFILES[profile],
            seed=seed,
            only=only,
            toggles=parse_toggles(toggles),
            budget_s=None if budget is None else 60 * budget,
            thresholds=tuple(map(parse_threshold, declared)),
        )
        choose(settings)
        for count in counts:
            domain(count)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    return settings


def thread_counts(text: str) -> tuple[int, ...]:
    """Counts such as ``1,2``, each once."""
    parts = [part.strip() for part in text.split(",")]
    counts = tuple(int(part) for part in parts if part.isdecimal())
    if len(counts) != len(parts) or 0 in counts or len(set(counts)) != len(counts):
        raise ValueError(f"--threads: counts from 1 such as 1,2, each once, got {text!r}.")
    return counts
