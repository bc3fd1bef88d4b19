"""Drive a survey: generations of workers, rows in random order, rounds that alternate the backends."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import cases, machine, stats
from .arms import CONTROL_ARM, Arm, ours
from .case import Check, Disagreement, Row, Unavailable, rows
from .client import Client, RowFailed, WorkerDied, environment, worker_command
from .conditions import look
from .rates import from_document
from .schedule import balanced_orders, shuffled
from .survey import PLAINLY_LONG_NS, WARM_BELOW_NS, Block, Plan, Result, Settings, Survey, plan, visits
from .worker import load_fixture, save_fixture

assert cases.__all__

CLEAN = "clean-"
CONTROL = CONTROL_ARM.label
CONTROL_READINGS = 3
LATENESS_CALLS = 3
LATE_NS = 100_000
FLOOR_SLACK = 3.0
"""Caches, and memory that is only read, are faster than a copy; nothing is three times as fast."""


Place = tuple[int, int, int]
"""Generation, round, and position in the round."""


class Progress(Protocol):
    """Where a run reports how far it is."""

    def start(self, total: int) -> None: ...
    def advance(self, what: str) -> None: ...


class NoWorker(RuntimeError):
    """The process of an arm cannot be started; nothing can be compared without it."""


class Team:
    """A process per arm for one generation; one that died is replaced when it is next needed.

    Under its label an arm has the worker that stays through the generation. Under `CLEAN` it has another one
    that has run nothing and forks for each row.
    """

    def __init__(self, arms: Sequence[Arm], threads: int, cpus: list[int], directory: Path) -> None:
        self.arms = {arm.label: arm for arm in arms}
        self.threads, self.cpus, self.directory = threads, cpus, directory
        self.clients: dict[str, Client] = {}

    def client(self, name: str) -> Client:
        if name not in self.clients:
            arm = self.arms[name.removeprefix(CLEAN)]
            command = worker_command(arm, self.threads, self.cpus)
            env = environment(arm, self.threads, self.directory / "jax-cache")
            log = self.directory / f"{name.replace('/', '_')}.log"
            self.clients[name] = Client(command, env, log)
        return self.clients[name]

    def ask(self, name: str, do: str, **arguments: Any) -> dict[str, Any]:
        try:
            return self.client(name).ask(do, **arguments)
        except WorkerDied:
            del self.clients[name]
            raise

    def close(self) -> None:
        for client in self.clients.values():
            client.hang_up()
        for client in self.clients.values():
            client.close()


class Fixtures:
    """Fixtures on disk, each built once, and the oracles made from them, shared by phases."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.paths: dict[tuple[Any, ...], Path] = {}
        self.checks: dict[tuple[Any, ...], Check] = {}

    def path(self, row: Row) -> Path:
        key = (row.case.fixture, row.size.args, row.dtype)
        if key not in self.paths:
            path = self.directory / f"fixture-{len(self.paths)}.npz"
            save_fixture(path, row.fixture())
            self.paths[key] = path
        return self.paths[key]

    def check(self, row: Row) -> Check:
        key = (row.case.name, row.size.args, row.dtype)
        if key not in self.checks:
            self.checks[key] = row.check(load_fixture(self.path(row)))
        return self.checks[key]


class Driver:
    """The loop of a run. `survey` fills as it goes."""

    def __init__(self, settings: Settings, progress: Progress, directory: Path) -> None:
        self.settings, self.progress, self.directory = settings, progress, directory
        self.survey = Survey(settings)
        self.fixtures = Fixtures(directory)
        self.start = time.monotonic()

    def run(self) -> Survey:
        chosen = choose(self.settings)
        profile = self.settings.profile
        self.survey.expected = len(chosen) * len(self.settings.arms) * len(self.settings.threads)
        self.progress.start(len(chosen) * profile.generations * len(self.settings.threads))
        for threads in self.settings.threads:
            for row in chosen:
                for label in self.settings.labels:
                    self.survey.result(row, label, threads)
            for generation in range(profile.most):
                left = chosen if generation < profile.generations else self.undecided(threads)
                if not left or (generation >= profile.generations and self.over()):
                    self.note_width(left, threads)
                    break
                self.generation(generation, threads, left)
            self.fixtures.checks.clear()
        self.floors()
        self.survey.seconds = round(time.monotonic() - self.start, 1)
        return self.survey

    def over(self) -> bool:
        budget = self.settings.budget_s
        return budget is not None and time.monotonic() - self.start > budget

    def undecided(self, threads: int) -> list[Row]:
        """Rows whose interval is still wider than the profile asks for."""
        width = self.settings.profile.width
        lines = [(row, arms) for row, count, arms in self.survey.lines() if count == threads]
        return [row for row, arms in lines if width_of(arms, self.settings.backends) > width]

    def note_width(self, left: Sequence[Row], threads: int) -> None:
        if left:
            width = f"{self.settings.profile.width:.0%}"
            self.survey.notes.append(
                f"the time was over while {len(left)} rows with {threads} threads were wider than {width}"
            )

    def generation(self, generation: int, threads: int, chosen: Sequence[Row]) -> None:
        with self.team(threads) as team:
            found = from_document(team.ask(CONTROL, "rates", threads=threads))
            self.survey.rates[threads] = found.best_of(self.survey.rates.get(threads, found))
            for arm in self.settings.arms:
                self.record_worker(team, arm, generation, threads)
            controls = [self.control(team, row, threads) for row in rows("control")]
            for index, row in enumerate(shuffled(chosen, f"{self.settings.seed}/{threads}/{generation}")):
                for result in controls:
                    with failures(result):
                        self.visit(team, result, 0, (generation, index, 0), slot=result.row.op)
                self.row(team, row, generation, threads)
                self.progress.advance(f"generation {generation + 1}: {row}")
            for worker in self.survey.workers[-len(self.settings.arms) :]:
                self.record_libraries(team, worker)

    @contextmanager
    def team(self, threads: int) -> Iterator[Team]:
        team = Team((*self.settings.arms, CONTROL_ARM), threads, domain(threads), self.directory)
        try:
            yield team
        finally:
            team.close()

    def record_worker(self, team: Team, arm: Arm, generation: int, threads: int) -> None:
        try:
            about = team.ask(arm.label, "describe")
        except (RowFailed, WorkerDied) as error:
            raise NoWorker(f"bench: the {arm.label} worker does not start: {error}") from error
        asked = {"name": arm.label, "generation": generation, "threads": threads}
        self.survey.workers.append({**asked, "masks": {}, "libraries": [], **about})

    def record_libraries(self, team: Team, worker: dict[str, Any]) -> None:
        """What the worker has loaded by now; a worker that died proves nothing, and a note says so."""
        try:
            worker.update(team.ask(worker["name"], "libraries"))
        except (RowFailed, WorkerDied) as error:
            self.survey.notes.append(f"the libraries of {worker['name']} are not known: {error}")

    def control(self, team: Team, row: Row, threads: int) -> Result:
        """A control row, ready in its slot of the control worker."""
        result = self.survey.control(row, CONTROL, threads)
        path, unchecked = self.fixtures.path(row), result.plan is None
        reply = self.prepared(team, CONTROL, result, path, checked=unchecked, slot=row.op)
        if result.plan is None:
            self.verify(result, self.fixtures.check(row))
            result.plan = Plan(1, CONTROL_READINGS, reply["first_call_ns"])
        return result

    def row(self, team: Team, row: Row, generation: int, threads: int) -> None:
        """One row in one generation: set it up everywhere, check it, then alternate."""
        results = [self.survey.result(row, label, threads) for label in self.settings.labels]
        alive = [result for result in results if result.status == "ok"]
        if not alive:
            return
        try:
            path = self.fixtures.path(row)
        except Unavailable as reason:
            for result in alive:
                result.fail("unsupported", str(reason))
            return
        self.set_up(team, alive, path, generation)
        ready = [result for result in alive if result.status == "ok"]
        self.rounds(team, ready, generation)
        for result in alive:
            self.release(team, result)
        if generation < self.settings.profile.clean:
            for result in shuffled(ready, f"{self.settings.seed}/{row.key}/{generation}/clean"):
                self.clean(team, result, path, generation)

    def set_up(self, team: Team, alive: Sequence[Result], path: Path, generation: int) -> None:
        for result in alive:
            with failures(result):
                reply = self.prepared(team, result.backend, result, path, checked=generation == 0)
                result.setup_ns.append(reply["setup_ns"])
                result.first_call_ns.append(reply["first_call_ns"])
                if generation == 0:
                    self.verify(result, self.fixtures.check(result.row))
                    self.calibrate(team, result, None if reply["compiled"] else reply["first_call_ns"])

    def prepared(
        self, team: Team, name: str, result: Result, path: Path, checked: bool = False, slot: str = ""
    ) -> dict[str, Any]:
        """Set a row up in a process and call it once."""
        outputs = str(self.directory / "outputs.npz") if checked else None
        wanted = {"row": result.row.key, "fixture": str(path), "outputs": outputs, "slot": slot}
        return team.ask(name, "prepare", **wanted)

    def verify(self, result: Result, check: Check) -> None:
        with np.load(self.directory / "outputs.npz") as file:
            check(result.row.phase, [file[name] for name in file.files])

    def calibrate(self, team: Team, result: Result, estimate_ns: int | None) -> None:
        """Plan the readings of a row; one that is plainly long is not called once more to learn it.

        ``estimate_ns`` is the time of the first call, None if that one compiled something.
        """
        profile = self.settings.profile
        if estimate_ns is not None and estimate_ns > PLAINLY_LONG_NS:
            result.plan = plan(profile, 1, estimate_ns)
            return
        reply = team.ask(result.backend, "calibrate", interval_ns=profile.interval_ns)
        result.plan = plan(profile, reply["batch"], reply["call_ns"])
        calls = LATENESS_CALLS if reply["call_ns"] < WARM_BELOW_NS else 1
        require_punctual(team.ask(result.backend, "lateness", calls=calls))

    def rounds(self, team: Team, ready: Sequence[Result], generation: int) -> None:
        plans = [result.plan for result in ready if result.plan is not None]
        if not plans:
            return
        by_name = {result.backend: result for result in ready}
        count = visits(self.settings.profile, plans)
        warmups = int(max(p.call_ns for p in plans) < WARM_BELOW_NS)
        row, threads = ready[0].row, ready[0].threads
        seed = f"{self.settings.seed}/{row.key}/{threads}/{generation}"
        for index, order in enumerate(balanced_orders(self.settings.labels, count, seed)):
            place = {"row": row.key, "threads": threads, "generation": generation, "round": index}
            self.survey.rounds.append({**place, **look(team.cpus[0]).document()})
            for position, name in enumerate(name for name in order if name in by_name):
                with failures(by_name[name]):
                    self.visit(team, by_name[name], warmups, (generation, index, position))

    def visit(self, team: Team, result: Result, warmups: int, place: Place, slot: str = "") -> None:
        if result.status == "ok":
            result.blocks.append(read_block(team, result.backend, result, warmups, place, slot))

    def clean(self, team: Team, result: Result, path: Path, generation: int) -> None:
        """The row in a process in which nothing else has run."""
        if result.status != "ok":
            return
        name = CLEAN + result.backend
        with failures(result):
            team.ask(name, "clean")
            self.prepared(team, name, result, path)
            result.clean.append(read_block(team, name, result, 1, (generation, 0, 0)))
            team.ask(name, "leave")

    def release(self, team: Team, result: Result) -> None:
        with failures(result):
            masks = team.ask(result.backend, "release")["thread_masks"]
            worker = next(w for w in reversed(self.survey.workers) if w["name"] == result.backend)
            for mask, count in masks.items():
                worker["masks"][mask] = max(count, worker["masks"].get(mask, 0))

    def floors(self) -> None:
        """Mark the times that nobody can have reached."""
        for result in self.survey.results.values():
            found = self.survey.floor(result)
            if result.timed and found is not None and result.median < found.ns / FLOOR_SLACK:
                took, least = result.median, found.ns
                result.suspect = f"{took:.0f} ns is below the {least:.0f} ns that its {found.bound} need"


def read_block(team: Team, name: str, result: Result, warmups: int, place: Place, slot: str = "") -> Block:
    assert result.plan is not None
    batch, count = result.plan.batch, result.plan.count
    reply = team.ask(name, "sample", count=count, batch=batch, warmups=warmups, slot=slot)
    clocks = tuple(reply["wall_ns"]), tuple(reply["cpu_ns"])
    return Block(*place, batch, *clocks, reply["switches"], reply["faults"])


def require_punctual(found: dict[str, Any]) -> None:
    """Refuse a backend whose call returns long before its outputs are there."""
    late, call = found["late_ns"], found["call_ns"]
    if late > max(LATE_NS, call / 2):
        raise RowFailed(
            "error",
            f"the outputs came {late / 1e3:.0f} us after the clock had stopped at {call / 1e3:.0f} us: "
            "the adapter's statement must wait for them",
        )


def width_of(arms: dict[str, Result], backends: Sequence[str]) -> float:
    """Half the interval of the ratio to the best peer, relative to it; the widest of the arms under test."""
    subject = ours(backends)
    timed = {name: arms[name].readings for name in backends if arms[name].timed}
    peers = {name: stats.Readings(r).median for name, r in timed.items() if name not in subject}
    found = [0.0]
    for name in subject:
        if name not in timed:
            continue
        other = timed[min(peers, key=lambda peer: peers[peer])] if peers else timed[name]
        ratio = stats.ratio(timed[name], other) if peers else None
        one = stats.summarize(timed[name])
        value, interval = (ratio.value, ratio.interval) if ratio else (one.median, one.interval)
        found.append((interval.high - interval.low) / 2 / value)
    return max(found)


@contextmanager
def failures(result: Result) -> Iterator[None]:
    """Turn what can go wrong with one row into its status."""
    try:
        yield
    except Disagreement as error:
        result.fail("wrong", str(error))
    except RowFailed as error:
        result.fail(error.status, str(error))
    except WorkerDied as error:
        result.fail("error", f"the worker died: {error}")


def domain(threads: int) -> list[int]:
    """The CPUs of the workers: the last ones allowed, so that the driver can keep the first."""
    allowed = machine.affinity()
    if threads > len(allowed):
        raise ValueError(f"bench run: {threads} threads asked for, but {len(allowed)} CPUs are allowed.")
    return allowed[-threads:]


def choose(settings: Settings) -> list[Row]:
    """The rows of the suites, without repetition, filtered by the text that the user gave."""
    found = {row.key: row for suite in settings.suites for row in rows(suite)}
    chosen = [row for row in found.values() if settings.only is None or settings.only in str(row)]
    if not chosen:
        raise ValueError(f"bench run: no row of {', '.join(settings.suites)} matches {settings.only!r}.")
    return chosen


def run(settings: Settings, progress: Progress) -> Survey:
    """Measure; the temporary directory of fixtures and logs goes when the run ends."""
    with tempfile.TemporaryDirectory(prefix="taenite-bench-") as directory, machine.one_blas_thread():
        return Driver(settings, progress, Path(directory)).run()
