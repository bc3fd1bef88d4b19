"""Drive a survey: generations of workers, rows in random order, rounds that alternate the backends."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from . import cases, machine
from .case import Check, Disagreement, Row, Unavailable, rows
from .client import Client, RowFailed, WorkerDied, environment, worker_command
from .schedule import balanced_orders, shuffled
from .survey import PLAINLY_LONG_NS, WARM_BELOW_NS, Block, Result, Settings, Survey, plan, visits
from .worker import load_fixture, save_fixture

assert cases.__all__


class Progress(Protocol):
    """Where a run reports how far it is."""

    def start(self, total: int) -> None: ...
    def advance(self, what: str) -> None: ...


class Team:
    """One worker per backend for one generation; a worker that died is replaced when it is next needed."""

    def __init__(self, backends: Sequence[str], threads: int, cpus: list[int], directory: Path) -> None:
        self.backends, self.threads, self.cpus, self.directory = backends, threads, cpus, directory
        self.clients: dict[str, Client] = {}

    def client(self, backend: str) -> Client:
        if backend not in self.clients:
            command = worker_command(backend, self.threads, self.cpus)
            env = environment(backend, self.threads, self.directory / "jax-cache")
            self.clients[backend] = Client(command, env, self.directory / f"{backend}.log")
        return self.clients[backend]

    def ask(self, backend: str, do: str, **arguments: Any) -> dict[str, Any]:
        try:
            return self.client(backend).ask(do, **arguments)
        except WorkerDied:
            del self.clients[backend]
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

    def run(self) -> Survey:
        start = time.monotonic()
        chosen = choose(self.settings)
        profile = self.settings.profile
        self.progress.start(len(chosen) * profile.generations * len(self.settings.threads))
        for threads in self.settings.threads:
            for row in chosen:
                for backend in self.settings.backends:
                    self.survey.result(row, backend, threads)
            for generation in range(profile.generations):
                self.generation(generation, threads, chosen)
                self.fixtures.checks.clear()
        self.survey.seconds = round(time.monotonic() - start, 1)
        return self.survey

    def generation(self, generation: int, threads: int, chosen: Sequence[Row]) -> None:
        with self.team(threads) as team:
            for backend in self.settings.backends:
                self.record_worker(team, backend, generation, threads)
            for row in shuffled(chosen, f"{self.settings.seed}/{threads}/{generation}"):
                self.row(team, row, generation, threads)
                where = f"generation {generation + 1} of {self.settings.profile.generations}"
                self.progress.advance(f"{where}: {row}")
            for worker in self.survey.workers[-len(self.settings.backends) :]:
                worker.update(team.ask(worker["name"], "libraries"))

    @contextmanager
    def team(self, threads: int) -> Iterator[Team]:
        team = Team(self.settings.backends, threads, domain(threads), self.directory)
        try:
            yield team
        finally:
            team.close()

    def record_worker(self, team: Team, backend: str, generation: int, threads: int) -> None:
        try:
            about = team.ask(backend, "describe")
        except (RowFailed, WorkerDied) as error:
            raise RuntimeError(f"bench: the {backend} worker does not start: {error}") from error
        asked = {"name": backend, "generation": generation, "threads": threads}
        self.survey.workers.append({**asked, "masks": {}, "libraries": [], **about})

    def row(self, team: Team, row: Row, generation: int, threads: int) -> None:
        """One row in one generation: set it up everywhere, check it, then alternate."""
        results = [self.survey.result(row, backend, threads) for backend in self.settings.backends]
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
        self.rounds(team, [result for result in alive if result.status == "ok"], generation)
        for result in alive:
            self.release(team, result)

    def set_up(self, team: Team, alive: Sequence[Result], path: Path, generation: int) -> None:
        for result in alive:
            with failures(result):
                estimate_ns = self.prepare(team, result, path, checked=generation == 0)
                if generation == 0:
                    self.verify(result, self.fixtures.check(result.row))
                    self.calibrate(team, result, estimate_ns)

    def prepare(self, team: Team, result: Result, path: Path, checked: bool) -> int | None:
        """Set a row up and call it once; the time of that call, unless compilation is a part of it."""
        outputs = str(self.directory / "outputs.npz") if checked else None
        reply = team.ask(result.backend, "prepare", row=result.row.key, fixture=str(path), outputs=outputs)
        result.setup_ns.append(reply["setup_ns"])
        result.first_call_ns.append(reply["first_call_ns"])
        return None if reply["compiled"] else int(reply["first_call_ns"])

    def verify(self, result: Result, check: Check) -> None:
        with np.load(self.directory / "outputs.npz") as file:
            check(result.row.phase, [file[name] for name in file.files])

    def calibrate(self, team: Team, result: Result, estimate_ns: int | None) -> None:
        """Plan the readings of a row; one that is plainly long is not called once more to learn it."""
        profile = self.settings.profile
        if estimate_ns is not None and estimate_ns > PLAINLY_LONG_NS:
            result.plan = plan(profile, 1, estimate_ns)
            return
        reply = team.ask(result.backend, "calibrate", interval_ns=profile.interval_ns)
        result.plan = plan(profile, reply["batch"], reply["call_ns"])

    def rounds(self, team: Team, ready: Sequence[Result], generation: int) -> None:
        plans = [result.plan for result in ready if result.plan is not None]
        if not plans:
            return
        by_name = {result.backend: result for result in ready}
        per_generation = visits(self.settings.profile, plans)
        warmups = int(max(p.call_ns for p in plans) < WARM_BELOW_NS)
        for index, order in enumerate(self.orders(ready[0], per_generation, generation)):
            self.survey.loads.append({"row": ready[0].row.key, "round": index, "load": machine.load()})
            for position, backend in enumerate(name for name in order if name in by_name):
                with failures(by_name[backend]):
                    self.visit(team, by_name[backend], warmups, (generation, index, position))

    def orders(self, result: Result, per_generation: int, generation: int) -> list[list[str]]:
        """This generation's part of the row's balanced sequence over all generations."""
        total = per_generation * self.settings.profile.generations
        seed = f"{self.settings.seed}/{result.row.key}/{result.threads}"
        sequence = balanced_orders(self.settings.backends, total, seed)
        return sequence[generation * per_generation : (generation + 1) * per_generation]

    def visit(self, team: Team, result: Result, warmups: int, place: tuple[int, int, int]) -> None:
        assert result.plan is not None
        if result.status != "ok":
            return
        batch, count = result.plan.batch, result.plan.count
        reply = team.ask(result.backend, "sample", count=count, batch=batch, warmups=warmups)
        result.blocks.append(Block(*place, batch, tuple(reply["wall_ns"]), tuple(reply["cpu_ns"])))

    def release(self, team: Team, result: Result) -> None:
        with failures(result):
            masks = team.ask(result.backend, "release")["thread_masks"]
            worker = next(w for w in reversed(self.survey.workers) if w["name"] == result.backend)
            for mask, count in masks.items():
                worker["masks"][mask] = max(count, worker["masks"].get(mask, 0))


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
