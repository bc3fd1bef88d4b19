"""The survey as one HTML file that needs nothing else: style and drawings are inside of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from . import facts, plots, report
from .arms import ours
from .compare import Analysis, Comparison
from .stats import SAME
from .survey import Result

NEEDED = ("jinja2", "matplotlib")
TEMPLATES = Path(__file__).parent / "templates"
SIGNS = {"faster": "▼", "slower": "▲", "same": "=", "inconclusive": "?"}
"""A sign beside each verdict, so that a reader need not tell colours apart."""


def missing() -> list[str]:
    """The packages that an HTML report needs and that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


@dataclass(frozen=True)
class Time:
    """One cell of the table: the time or the status, and what else is to be said."""

    text: str
    timed: bool
    remarks: tuple[str, ...] = ()
    suspect: str = ""


@dataclass(frozen=True)
class Verdict:
    ratio: str
    interval: str
    word: str
    sign: str
    peer: str


@dataclass(frozen=True)
class Line:
    row: str
    threads: int
    times: tuple[Time, ...]
    verdicts: tuple[Verdict | None, ...]


def page(analysis: Analysis, about: dict[str, Any], warnings: list[str]) -> str:
    """The whole report. Needs the packages in `NEEDED`: see `missing`."""
    import jinja2

    loader = jinja2.FileSystemLoader(TEMPLATES)
    env = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    survey = analysis.survey
    return env.get_template("report.html.j2").render(
        survey=survey,
        settings=survey.settings,
        about=about,
        warnings=warnings,
        null_sentence=report.null_sentence(analysis),
        verdict_counts=verdict_counts(analysis),
        machine=facts.machine(about),
        rates=facts.rates(survey),
        libraries=facts.library_rows(survey),
        controls=facts.control_rows(survey, report.duration),
        conditions=list(facts.conditions(survey)),
        subject=ours(survey.settings.backends),
        lines=lines(analysis),
        means_header=report.means_header(survey),
        means=report.means(analysis),
        variants_header=report.VARIANTS_HEADER,
        toggles=report.variants(analysis, analysis.toggles),
        toggle_means=report.variant_means(analysis.toggles),
        troubles=report.troubles(survey),
        plots=plots.all_plots(analysis),
        signs=SIGNS,
    )


def verdict_counts(analysis: Analysis) -> list[tuple[str, dict[str, int]]]:
    """How many rows of each of our backends got which verdict."""
    counts: dict[str, dict[str, int]] = {}
    for c in analysis.comparisons:
        counts.setdefault(c.backend, dict.fromkeys(SIGNS, 0))[c.ratio.verdict] += 1
    return list(counts.items())


def lines(analysis: Analysis) -> list[Line]:
    survey = analysis.survey
    found = {(c.row.key, c.threads, c.backend): c for c in analysis.comparisons}
    return [
        Line(
            str(row),
            threads,
            tuple(time(analysis, by_backend.get(name)) for name in survey.settings.backends),
            tuple(verdict(found.get((row.key, threads, name))) for name in ours(survey.settings.backends)),
        )
        for row, threads, by_backend in survey.lines()
    ]


def verdict(c: Comparison | None) -> Verdict | None:
    if c is None:
        return None
    ratio, interval = report.ratio_cell(c).split(" ", 1)
    return Verdict(ratio, interval, c.ratio.verdict, SIGNS[c.ratio.verdict], c.peer)


def time(analysis: Analysis, result: Result | None) -> Time:
    if result is None or not result.timed:
        return Time(report.cell(result), False)
    return Time(report.cell(result), True, tuple(remarks(analysis, result)), result.suspect)


def remarks(analysis: Analysis, result: Result) -> list[str]:
    """Spread, part of the peak, and what the other rows did to this one, if it is more than noise."""
    spread = f"±{result.summary.interval.half_width:.0%}"
    floor = analysis.survey.floor(result)
    found = [spread if floor is None else f"{spread} · {floor.ns / result.median:.0%} {floor.bound}"]
    effect = result.suite_effect
    if effect is not None and max(effect, 1 / effect) > 1 + max(SAME, analysis.noise(result)):
        found.append(f"alone \u00d7{1 / effect:.2f}")
    return found
