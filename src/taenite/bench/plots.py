"""The plots of a report, as SVG. Everything is told by position, shape and words; colour only repeats it."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .case import Row
from .compare import Analysis, Comparison
from .survey import Result, Survey

ROWS_PER_FIGURE = 44
"""What fits on a printed page."""
PANELS_ACROSS, PANELS_PER_FIGURE = 3, 12
WIDTH_IN = 7.2
STYLES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", ":"),
    ("#000000", "v", (0, (5, 1, 1, 1, 1, 1))),
    ("#E69F00", "P", (0, (1, 1))),
    ("#56B4E9", "X", (0, (7, 2))),
)
"""The colours of Okabe and Ito, which the colour-blind tell apart; a marker and a dash pattern for each."""
VERDICT_STYLES = {
    "faster": ("#0072B2", "o", True),
    "slower": ("#D55E00", "s", True),
    "same": ("#000000", "|", True),
    "inconclusive": ("#666666", "o", False),
}
"""Colour, marker, and whether it is filled."""
SETTINGS: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "taenite",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#d0d0d0",
    "grid.linewidth": 0.5,
}


@dataclass(frozen=True)
class Plot:
    """A drawing with what it shows, for those who cannot see it too."""

    caption: str
    svg: str


def all_plots(analysis: Analysis) -> list[Plot]:
    """Every plot that this survey has numbers for."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        found = [
            *ratio_plots(analysis),
            *size_plots(analysis.survey),
            *thread_plots(analysis.survey),
            *null_plots(analysis),
        ]
    return [Plot(plot.caption, distinct(plot.svg, f"plot{i}-")) for i, plot in enumerate(found)]


def figure(height_in: float, **options: Any) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH_IN, height_in), layout="constrained", **options)


def svg_of(drawn: Any) -> str:
    """The drawing without XML header, date, or a size that the page could not change."""
    file = io.StringIO()
    drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    return text[text.index("<svg") :]


def distinct(svg: str, prefix: str) -> str:
    """Names of parts are unique in a page, not only in a drawing."""
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = re.sub(r'href="#', f'href="#{prefix}', svg)
    return svg.replace("url(#", f"url(#{prefix}")


def chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Parts of nearly equal length, none longer than ``size``."""
    count = math.ceil(len(items) / size)
    for i in range(count):
        yield items[i * len(items) // count : (i + 1) * len(items) // count]


def ratio_plots(analysis: Analysis) -> Iterator[Plot]:
    """Rows sorted by ratio, for each backend of ours and thread count."""
    for backend, threads in dict.fromkeys((c.backend, c.threads) for c in analysis.comparisons):
        chosen = [c for c in analysis.comparisons if (c.backend, c.threads) == (backend, threads)]
        what = f"{backend} with {threads} thread{'s' * (threads > 1)}: time over that of the fastest peer"
        yield from sorted_ratios(
            chosen, what, analysis.survey.noise_of(threads), ("faster than the peer", "slower")
        )


def null_plots(analysis: Analysis) -> Iterator[Plot]:
    for threads, null in analysis.nulls.items():
        what = f"A/A: the twin {null.label} over its original, {threads} thread{'s' * (threads > 1)}"
        yield from sorted_ratios(null.rows, what, null.noise, ("the twin is faster", "slower"))


def sorted_ratios(
    chosen: Sequence[Comparison], what: str, noise: float, sides: tuple[str, str]
) -> Iterator[Plot]:
    ordered = sorted(chosen, key=lambda c: c.ratio.value)
    ends = [end for c in chosen for end in (c.ratio.interval.low, c.ratio.interval.high)]
    limits = span([c.ratio.value for c in chosen], ends)
    parts = list(chunks(ordered, ROWS_PER_FIGURE))
    for index, part in enumerate(parts):
        of = f", part {index + 1} of {len(parts)}" if len(parts) > 1 else ""
        caption = f"{what}{of}. Bars are 95 % intervals, the grey band is the noise of ±{noise:.1%}."
        yield Plot(caption, ratio_figure(part, what, noise, limits, sides))


def span(values: Sequence[float], ends: Sequence[float]) -> tuple[float, float]:
    """Limits of an axis that hold every value, and every interval that is not more than 4 times as far."""
    low, high = min(values), max(values)
    low, high = max(min(ends), low / 4), min(max(ends), high * 4)
    return min(low, 1 / 1.05) / 1.05, max(high, 1.05) * 1.05


def ratio_figure(
    part: Sequence[Comparison], what: str, noise: float, limits: tuple[float, float], sides: tuple[str, str]
) -> str:
    drawn = figure(1.15 + 0.185 * len(part))
    axes = drawn.add_subplot()
    axes.set_xscale("log")
    axes.set_xlim(*limits)
    axes.axvspan(1 / (1 + noise), 1 + noise, color="#bbbbbb", alpha=0.5, linewidth=0)
    axes.axvline(1, color="black", linewidth=0.8)
    for y, c in enumerate(part):
        colour, marker, filled = VERDICT_STYLES[c.ratio.verdict]
        axes.plot([c.ratio.interval.low, c.ratio.interval.high], [y, y], color=colour, linewidth=1.2)
        face = colour if filled else "white"
        axes.plot([c.ratio.value], [y], marker=marker, color=colour, markerfacecolor=face, markersize=5)
    axes.set_yticks(range(len(part)), [str(c.row) for c in part], fontsize=7)
    axes.set_ylim(len(part) - 0.4, -0.6)
    ratio_ticks(axes, limits)
    axes.set_xlabel(" · ".join((f"← {sides[0]}", "ratio", f"{sides[1]} →")))
    axes.set_title(what, fontsize=9, loc="left")
    shown = [v for v in VERDICT_STYLES if any(c.ratio.verdict == v for c in part)]
    legend(drawn, [(name, *VERDICT_STYLES[name][:2], "-", VERDICT_STYLES[name][2]) for name in shown])
    return svg_of(drawn)


TICKS = (
    (1.3, (0.8, 0.85, 0.9, 0.95, 1, 1.05, 1.1, 1.15, 1.2, 1.25)),
    (8.0, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.4, 1.7, 2, 3, 4, 5, 6)),
    (50.0, (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)),
    (math.inf, (1e-4, 1e-3, 0.01, 0.1, 1, 10, 100, 1e3, 1e4)),
)
"""Where a logarithmic axis of ratios has numbers, by how far apart its ends are."""


def ratio_ticks(axes: Any, limits: tuple[float, float]) -> None:
    wide = limits[1] / limits[0]
    chosen = next(ticks for most, ticks in TICKS if wide <= most)
    inside = [t for t in chosen if limits[0] <= t <= limits[1]]
    axes.set_xticks(inside, [f"{t:g}" for t in inside])
    axes.minorticks_off()


def legend(drawn: Any, entries: Sequence[tuple[str, str, str, Any, bool]]) -> None:
    """Above the axes, where it covers nothing."""
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=c, marker=m, linestyle=d, label=name, markerfacecolor=c if filled else "white")
        for name, c, m, d, filled in entries
    ]
    drawn.legend(
        handles=handles, loc="outside upper center", ncols=min(6, max(1, len(handles))), frameon=False
    )


def backend_styles(survey: Survey) -> dict[str, tuple[str, str, Any]]:
    return {name: STYLES[i % len(STYLES)] for i, name in enumerate(survey.settings.backends)}


def size_plots(survey: Survey) -> Iterator[Plot]:
    """Time against size, one panel per operation, phase and dtype with at least two sizes."""
    for threads in survey.settings.threads:
        panels: dict[tuple[str, str, str], list[Row]] = {}
        for row, count, arms in survey.lines():
            if count == threads and any(arm.timed for arm in arms.values()):
                panels.setdefault((row.op, row.phase, row.dtype), []).append(row)
        chosen = [rows for rows in panels.values() if len(rows) > 1]
        parts = list(chunks(chosen, PANELS_PER_FIGURE))
        for index, part in enumerate(parts):
            of = f", part {index + 1} of {len(parts)}" if len(parts) > 1 else ""
            caption = (
                f"Time against size with {threads} thread{'s' * (threads > 1)}, on logarithmic axes{of}."
            )
            yield Plot(caption, size_figure(survey, threads, part))


def size_of(rows: Sequence[Row]) -> tuple[str, dict[str, float]]:
    """What the sizes of an operation differ in: the first number, or the bytes that must move."""
    first = {row.key: float(row.size.args[0]) if row.size.args else 0.0 for row in rows}
    if len(set(first.values())) == len(rows) and min(first.values()) > 0:
        return "n", first
    return "bytes that must move", {row.key: float(max(1, row.work.bytes)) for row in rows}


def size_figure(survey: Survey, threads: int, part: Sequence[Sequence[Row]]) -> str:
    across = min(PANELS_ACROSS, len(part))
    down = math.ceil(len(part) / across)
    drawn = figure(0.6 + 2.1 * down)
    grid = drawn.subplots(down, across, squeeze=False)
    styles = backend_styles(survey)
    for axes, rows in zip(grid.flat, part, strict=False):
        size_panel(axes, survey, threads, rows, styles)
    for axes in list(grid.flat)[len(part) :]:
        axes.set_visible(False)
    legend(drawn, [(name, *style, True) for name, style in styles.items()])
    return svg_of(drawn)


def size_panel(
    axes: Any, survey: Survey, threads: int, rows: Sequence[Row], styles: dict[str, tuple[str, str, Any]]
) -> None:
    from matplotlib.ticker import LogLocator

    label, sizes = size_of(rows)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name, (colour, marker, dashes) in styles.items():
        found = [survey.results.get((row.key, name, threads)) for row in rows]
        points = sorted((sizes[r.row.key], r.median / 1e9) for r in found if r is not None and r.timed)
        if points:
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=colour, marker=marker, linestyle=dashes, markersize=3.5, linewidth=1)
    title = rows[0].op if rows[0].phase in ("primal", "backward") else f"{rows[0].op} {rows[0].phase}"
    axes.set_title(title if rows[0].dtype == "float64" else f"{title} {rows[0].dtype}", fontsize=7.5)
    axes.set_xlabel(label, fontsize=7)
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axes.yaxis.set_major_formatter(seconds)
    if label == "n":
        ticks = sorted(set(sizes.values()))[:: max(1, len(set(sizes.values())) // 5)]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.tick_params(labelsize=7)


def seconds(value: float, _: Any = None) -> str:
    """A power of ten of seconds in its unit."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if value >= 0.9999 * scale:
            return f"{value / scale:g} {unit}"
    return f"{value:g} s"


def thread_plots(survey: Survey) -> Iterator[Plot]:
    """How many times as fast each row is with N threads as with the fewest."""
    fewest, *more = sorted(survey.settings.threads)
    for threads in more:
        lines = [
            (str(row), found)
            for row, count, _ in survey.lines()
            if count == fewest and (found := speedups(survey, row, fewest, threads))
        ]
        lines.sort(key=lambda line: -next(iter(line[1].values())))
        parts = list(chunks(lines, ROWS_PER_FIGURE))
        values = [value for _, found in lines for value in found.values()]
        for index, part in enumerate(parts):
            of = f", part {index + 1} of {len(parts)}" if len(parts) > 1 else ""
            caption = f"Time with {fewest} over time with {threads} threads: above 1 the threads help{of}."
            yield Plot(caption, thread_figure(survey, fewest, threads, part, span(values, values)))


def speedups(survey: Survey, row: Row, fewest: int, threads: int) -> dict[str, float]:
    found = {}
    for name in survey.settings.backends:
        one: Result | None = survey.results.get((row.key, name, fewest))
        many: Result | None = survey.results.get((row.key, name, threads))
        if one is not None and many is not None and one.timed and many.timed:
            found[name] = one.median / many.median
    return found


def thread_figure(
    survey: Survey,
    fewest: int,
    threads: int,
    part: Sequence[tuple[str, dict[str, float]]],
    limits: tuple[float, float],
) -> str:
    drawn = figure(1.15 + 0.185 * len(part))
    axes = drawn.add_subplot()
    axes.set_xscale("log")
    axes.set_xlim(limits[0], max(limits[1], 1.1 * threads / fewest))
    axes.axvline(1, color="black", linewidth=0.8)
    axes.axvline(threads / fewest, color="black", linewidth=0.8, linestyle=":")
    styles = backend_styles(survey)
    for name, (colour, marker, _) in styles.items():
        points = [(found[name], y) for y, (_, found) in enumerate(part) if name in found]
        if points:
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=colour, marker=marker, linestyle="", markersize=4.5, markerfacecolor="none")
    axes.set_yticks(range(len(part)), [name for name, _ in part], fontsize=7)
    axes.set_ylim(len(part) - 0.4, -0.6)
    ratio_ticks(axes, axes.get_xlim())
    axes.set_xlabel(f"← the threads hurt · speed-up ({threads / fewest:g}, dotted, is perfect) · they help →")
    axes.set_title(f"{threads} threads against {fewest}", fontsize=9, loc="left")
    legend(drawn, [(name, style[0], style[1], "", False) for name, style in styles.items()])
    return svg_of(drawn)
