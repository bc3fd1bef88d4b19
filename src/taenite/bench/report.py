"""The survey as text: one table model, shown in Markdown here and in the terminal by `table`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arms import is_twin, ours
from .baseline import VERDICTS, Change
from .compare import BEST, Analysis, Comparison, Mean
from .facts import libraries
from .stats import Ratio, geometric_mean
from .survey import Result, Survey

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))


def duration(ns: float) -> str:
    """Three significant digits in the unit that suits."""
    scale, unit = next(((s, u) for s, u in UNITS if ns >= s), UNITS[-1])
    value = ns / scale
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def cell(result: Result | None) -> str:
    if result is None:
        return ""
    return duration(result.median) if result.timed else result.status


def ratio_cell(one: Comparison | None) -> str:
    if one is None:
        return ""
    return ratio_text(one.ratio)


def ratio_text(ratio: Ratio) -> str:
    low, high = ratio.interval.low, ratio.interval.high
    return f"{plain(ratio.value)} [{plain(low)}, {plain(high)}]"


def plain(value: float) -> str:
    """Two decimals, as far as they say something."""
    return f"{value:.2f}" if value < 10 else f"{value:.0f}" if value < 1000 else ">1000"


CHANGES_HEADER = ["row", "backend", "threads", "then", "now", "now / then", "noise", "verdict"]


def changes(found: Sequence[Change]) -> list[list[str]]:
    """The cells of a comparison of two runs."""
    return [
        [
            str(c.now.row),
            c.now.backend,
            str(c.now.threads),
            cell(c.then),
            cell(c.now),
            ratio_text(c.ratio),
            f"{c.noise:.1%}",
            c.verdict,
        ]
        for c in sorted(found, key=lambda c: VERDICTS.index(c.verdict))
    ]


def change_means(found: Sequence[Change]) -> list[str]:
    """How each backend moved as a whole."""
    by_backend: dict[str, list[float]] = {}
    for c in found:
        by_backend.setdefault(c.now.backend, []).append(c.ratio.value)
    return [f"{name}: geometric mean {geometric_mean(v):.3f}" for name, v in by_backend.items()]


def header(survey: Survey) -> list[str]:
    ratios = [f"{name} / best peer" for name in ours(survey.settings.backends)]
    return ["row", "threads", *survey.settings.backends, *ratios, "verdict"]


def body(analysis: Analysis) -> list[list[str]]:
    """The table's cells, a line per row and thread count."""
    survey = analysis.survey
    found = {(c.row.key, c.threads, c.backend): c for c in analysis.comparisons}
    subject = ours(survey.settings.backends)
    lines = []
    for row, threads, by_backend in survey.lines():
        compared = [found.get((row.key, threads, name)) for name in subject]
        times = [cell(by_backend.get(name)) for name in survey.settings.backends]
        verdicts = "; ".join(f"{c.ratio.verdict} ({c.peer})" for c in compared if c)
        lines.append([str(row), str(threads), *times, *map(ratio_cell, compared), verdicts])
    return lines


def null_sentence(analysis: Analysis) -> str:
    """What two processes of one program differ by, over all rows and in the median row."""
    return " ".join(null_with(analysis, threads) for threads in analysis.survey.settings.threads)


def null_with(analysis: Analysis, threads: int) -> str:
    null, survey = analysis.nulls.get(threads), analysis.survey
    noise = f"noise of the median row: {survey.noise_of(threads):.1%} between processes"
    what = f"A/A across processes, {threads} thread{'s' * (threads > 1)}"
    if null is None:
        return f"{what}: not measured; {noise}."
    apart = f"{noise}, {null.noise:.1%} between {null.label} and its original"
    if null.mean is None:
        return f"{what}: too few processes; {apart}."
    low, high = null.mean.interval.low, null.mean.interval.high
    return f"{what}: {null.mean.value:.3f} [{low:.3f}, {high:.3f}]; {apart}."


VARIANTS_HEADER = ["row", "threads", "arm", "time", "plain arm", "arm / plain", "verdict"]


def variants(analysis: Analysis, found: Sequence[Comparison]) -> list[list[str]]:
    """The cells of arms beside the plain arm of their backend."""
    results = analysis.survey.results
    return [
        [
            str(c.row),
            str(c.threads),
            c.backend,
            cell(results[c.row.key, c.backend, c.threads]),
            cell(results[c.row.key, c.peer, c.threads]),
            ratio_cell(c),
            c.ratio.verdict,
        ]
        for c in found
    ]


def variant_means(found: Sequence[Comparison]) -> list[str]:
    """How each toggle moved the rows as a whole."""
    by_arm: dict[str, list[float]] = {}
    for c in found:
        by_arm.setdefault(f"{c.backend} / {c.peer}", []).append(c.ratio.value)
    return [
        f"{name}: geometric mean {geometric_mean(v):.3f} over {len(v)} rows" for name, v in by_arm.items()
    ]


def mean_cell(mean: Mean | None) -> str:
    return f"{mean.value:.2f} ({mean.worst:.2f})" if mean else ""


def means_header(survey: Survey) -> list[str]:
    subject = ours(survey.settings.backends)
    peers = [name for name in survey.settings.backends if name not in subject]
    return ["geometric mean (worst) against", "rows", BEST, *peers, "worst row"]


def means(analysis: Analysis) -> list[list[str]]:
    """The cells of the geometric means, a line per group."""
    _, _, best, *peers, _ = means_header(analysis.survey)
    return [
        [
            group.name,
            str(group.rows),
            *[mean_cell(group.against.get(peer)) for peer in (best, *peers)],
            group.against[best].worst_row,
        ]
        for group in analysis.groups
    ]


def troubles(survey: Survey) -> list[str]:
    """What went wrong with rows; NumPy not differentiating is not worth a line each."""
    found = [
        f"{r.row} on {r.backend}: {r.status}: {r.note}"
        for r in survey.results.values()
        if r.status in ("wrong", "error")
        or (r.status == "unsupported" and r.backend != "numpy" and not is_twin(r.backend))
    ]
    return list(dict.fromkeys(found))


def bullets(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|".join("---" if i == 0 else "---:" for i in range(len(head)))
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"| {' | '.join(head)} |\n|{rule}|\n{rows}"


def markdown(analysis: Analysis, about: dict[str, Any], warnings: list[str]) -> str:
    survey = analysis.survey
    settings = survey.settings
    valid = "valid" if not warnings else "NOT VALID: see the warnings"
    toggled = markdown_table(VARIANTS_HEADER, variants(analysis, analysis.toggles))
    return "\n".join(
        [
            f"# Survey: {', '.join(settings.suites)}\n",
            f"This run is {valid}. Profile {settings.profile.name}, seed {settings.seed}, "
            f"{survey.seconds:.0f} s on {about['cpu']}, {about['system']}.\n",
            f"{null_sentence(analysis)}\n",
            "Times are medians; a ratio below 1 means faster than the best peer, with its 95 % interval.\n",
            markdown_table(header(survey), body(analysis)),
            "## Geometric means\n\n" + markdown_table(means_header(survey), means(analysis)),
            *(
                ["## Toggles\n\n" + toggled, bullets(variant_means(analysis.toggles))]
                if analysis.toggles
                else []
            ),
            "## Warnings\n\n" + (bullets([*warnings, *survey.notes]) or "None.\n"),
            "## Rows without a time\n\n" + (bullets(troubles(survey)) or "None.\n"),
            "## Libraries\n\n" + (bullets(libraries(survey)) or "Unknown: threadpoolctl is not installed.\n"),
        ]
    )
