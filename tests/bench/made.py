"""Surveys and bundles that no clock has seen: every number is drawn from a seed."""

import numpy as np

from taenite.bench import record
from taenite.bench.arms import is_twin
from taenite.bench.case import rows
from taenite.bench.rates import Rates
from taenite.bench.survey import PROFILES, Block, Plan, Settings, Survey
from taenite.bench.toggles import parse_toggle

ABOUT = {
    "cpu": "made up",
    "family_model_stepping": ["1", "2", "3"],
    "simd": ["avx2"],
    "hypervisor": False,
    "logical_cpus": 2,
    "affinity": [0, 1],
    "caches": {"L1 Data": "32K"},
    "governor": None,
    "system": "none",
    "python": "3.11.2 (made up)",
    "environment": {},
}
SPEEDS = {"eager": 1.0, "compiled": 0.9, "numpy": 1.3, "jax": 1.6, "torch": 1.2}


def made_survey(
    suite="large_ad",
    backends=("eager", "numpy"),
    threads=(1,),
    seed=0,
    only=None,
    speeds=SPEEDS,
    toggles=(),
    generations=3,
    shift=1.0,
    thresholds=(),
):
    """Processes differ by 0.3 %, readings by 1 %; each row takes its own time, the same in every survey."""
    chosen = tuple(map(parse_toggle, toggles))
    settings = Settings(
        (suite,), tuple(backends), threads, PROFILES["quick"], 1, only, chosen, thresholds=thresholds
    )
    survey = Survey(settings, seconds=1.0)
    rng = np.random.default_rng(seed)
    for count in threads:
        survey.rates[count] = Rates(4e10 * count, {1 << k: 5e10 for k in range(13, 28, 2)})
        for row in rows(suite):
            if only is None or only in str(row):
                for label in settings.labels:
                    speed = speeds.get(label, speeds.get(label.partition("@")[0], 1.0))
                    fill(
                        survey.result(row, label, count),
                        rng,
                        time_of(row) * speed / count**0.5 * shift,
                        generations,
                    )
        for row in rows("control"):
            fill(survey.control(row, "numpy@control", count), rng, 1e6 * shift, generations)
        for generation in range(generations):
            survey.workers += [worker(label, generation, count) for label in settings.labels]
            survey.rounds += [condition(row, count, generation) for row in rows(suite)[:2]]
    survey.expected = len(survey.results)
    return survey


def time_of(row):
    """Nanoseconds: three times the row's operations at 40 per nanosecond, and a microsecond for the call."""
    return 1000.0 + row.work.flops / 40 * 3 + row.work.bytes / 50


def fill(result, rng, ns, generations, visits=2, count=3):
    result.plan = Plan(1, count, int(ns))
    result.setup_ns = result.first_call_ns = [int(10 * ns)] * generations
    for generation in range(generations):
        process = rng.normal(0, 0.003)
        for visit in range(visits):
            wall = tuple(int(x) for x in np.ceil(ns * np.exp(process + rng.normal(0, 0.01, count))))
            result.blocks.append(Block(generation, visit, 0, 1, wall, wall))
    result.clean.append(Block(0, 0, 0, 1, wall, wall))


def worker(label, generation, threads):
    library = {
        "filepath": f"/lib/{'ours' if is_twin(label) else label}.so",
        "version": "1",
        "architecture": "Haswell",
        "num_threads": threads,
        "sha256": "0" * 64,
    }
    cpus = [1] if threads == 1 else [0, 1]
    return {
        "name": label,
        "generation": generation,
        "threads": threads,
        "masks": {",".join(map(str, cpus)): 2},
        "libraries": [library],
        "pid": 1,
        "affinity": cpus,
        "empty_loop_ns": 10.0,
        "backend": {},
    }


def condition(row, threads, generation):
    place = {"row": row.key, "threads": threads, "generation": generation, "round": 0}
    unknown = dict.fromkeys(("throttled", "mhz", "governor"))
    return {**place, **unknown, "load": 0.1, "foreign": 0, "stolen_ticks": 0, "cpus": 2}


def write_bundle(directory, survey, about=ABOUT, warnings=()):
    record.begin(directory, survey.settings, about)
    record.write(directory, survey, about, list(warnings))
    return directory
