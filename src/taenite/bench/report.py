"""The survey as text: one table model, shown in Markdown here and in the terminal by `table`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arms import ours
from .baseline import Change
from .compare import BEST, Comparison, Mean, comparisons, groups
from .stats import geometric_mean
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
    return duration(result.summary.median) if result.timed else result.status


def ratio_cell(one: Comparison | None) -> str:
    if one is None:
        return ""
    low, high = one.ratio.interval.low, one.ratio.interval.high
    return f"{one.ratio.value:.2f} [{low:.2f}, {high:.2f}]"


CHANGES_HEADER = ["row", "backend", "threads", "then", "now", "now / then", "verdict"]


def changes(found: Sequence[Change]) -> list[list[str]]:
    """The cells of a comparison of two runs."""
    return [
        [
            str(c.now.row),
            c.now.backend,
            str(c.now.threads),
            cell(c.then),
            cell(c.now),
            f"{c.ratio.value:.2f} [{c.ratio.interval.low:.2f}, {c.ratio.interval.high:.2f}]",
            c.ratio.verdict,
        ]
        for c in found
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


def body(survey: Survey) -> list[list[str]]:
    """The table's cells, a line per row and thread count."""
    found = {(c.row.key, c.threads, c.backend): c for c in comparisons(survey)}
    subject = ours(survey.settings.backends)
    lines = []
    for row, threads, by_backend in survey.lines():
        compared = [found.get((row.key, threads, name)) for name in subject]
        times = [cell(by_backend.get(name)) for name in survey.settings.backends]
        verdicts = "; ".join(f"{c.ratio.verdict} ({c.peer})" for c in compared if c)
        lines.append([str(row), str(threads), *times, *map(ratio_cell, compared), verdicts])
    return lines


def mean_cell(mean: Mean | None) -> str:
    return f"{mean.value:.2f} ({mean.worst:.2f})" if mean else ""


def means_header(survey: Survey) -> list[str]:
    subject = ours(survey.settings.backends)
    peers = [name for name in survey.settings.backends if name not in subject]
    return ["geometric mean (worst) against", "rows", BEST, *peers, "worst row"]


def means(survey: Survey) -> list[list[str]]:
    """The cells of the geometric means, a line per group."""
    _, _, best, *peers, _ = means_header(survey)
    return [
        [
            group.name,
            str(group.rows),
            *[mean_cell(group.against.get(peer)) for peer in (best, *peers)],
            group.against[best].worst_row,
        ]
        for group in groups(survey)
    ]


def troubles(survey: Survey) -> list[str]:
    """What went wrong with rows; NumPy not differentiating is not worth a line each."""
    return [
        f"{r.row} on {r.backend}: {r.status}: {r.note}"
        for r in survey.results.values()
        if r.status in ("wrong", "error") or (r.status == "unsupported" and r.backend != "numpy")
    ]


def bullets(lines: Sequence[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)


def markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = "|".join("---" if i == 0 else "---:" for i in range(len(head)))
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"| {' | '.join(head)} |\n|{rule}|\n{rows}"


def libraries(survey: Survey) -> list[str]:
    """Which BLAS each backend loaded, once per backend."""
    found: dict[str, None] = {}
    for worker in survey.workers:
        for library in worker["libraries"]:
            text = (
                f"{worker['name']}: {library.get('filepath')} {library.get('version')} "
                f"({library.get('architecture', 'kernels unknown')}, {library.get('num_threads')} threads)"
            )
            found[text] = None
    return list(found)


def markdown(survey: Survey, about: dict[str, Any], warnings: list[str]) -> str:
    settings = survey.settings
    valid = "valid" if not warnings else "NOT VALID: see the warnings"
    return "\n".join(
        [
            f"# Survey: {', '.join(settings.suites)}\n",
            f"This run is {valid}. Profile {settings.profile.name}, seed {settings.seed}, "
            f"{survey.seconds:.0f} s on {about['cpu']}, {about['system']}. "
            f"A/A noise between processes: {survey.noise:.1%}.\n",
            "Times are medians; a ratio below 1 means faster than the best peer, with its 95 % interval.\n",
            markdown_table(header(survey), body(survey)),
            "## Geometric means\n\n" + markdown_table(means_header(survey), means(survey)),
            "## Warnings\n\n" + (bullets([*warnings, *survey.notes]) or "None.\n"),
            "## Rows without a time\n\n" + (bullets(troubles(survey)) or "None.\n"),
            "## Libraries\n\n" + (bullets(libraries(survey)) or "Unknown: threadpoolctl is not installed.\n"),
        ]
    )
