"""The driver's end of a worker: start it, ask it, and notice when it is gone."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .arms import Arm
from .machine import THREAD_VARIABLES

TIMEOUT_S = 180.0


class RowFailed(Exception):
    """The worker answered that a row is `unsupported` or an `error`; it is still alive."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class WorkerDied(Exception):
    """The worker's process ended, or did not answer in time and was killed."""


def environment(arm: Arm, threads: int, cache: Path) -> dict[str, str]:
    """The worker's environment: every library is told the same number of threads before it loads.

    JAX's pool has as many threads as ``NPROC`` says. The flag ``--xla_cpu_multi_thread_eigen=false`` does not
    hold it: jax 0.10 runs products, elementwise loops and sums on two threads with it.
    """
    env = dict(os.environ)
    env.update({name: str(threads) for name in THREAD_VARIABLES})
    if arm.backend.startswith("jax"):
        env["NPROC"] = str(threads)
        env["JAX_PLATFORMS"] = "cpu"
        env["JAX_COMPILATION_CACHE_DIR"] = str(cache)
        env["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    if arm.toggle is not None:
        env.update(arm.toggle.environment)
    return env


def worker_command(arm: Arm, threads: int, cpus: Sequence[int]) -> list[str]:
    chosen = arm.toggle.cpus if arm.toggle is not None and arm.toggle.cpus else cpus
    options = [f"--backend={arm.backend}", f"--threads={threads}", f"--cpus={','.join(map(str, chosen))}"]
    if arm.toggle is not None:
        options.append(f"--toggle={arm.toggle}")
    return [sys.executable, "-m", "taenite.bench.worker", *options]


class Client:
    """A running worker."""

    def __init__(self, command: Sequence[str], env: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env, bufsize=0
            )
        self._pending = b""

    def ask(self, do: str, *, timeout_s: float = TIMEOUT_S, **arguments: Any) -> dict[str, Any]:
        """Send one command and wait for its reply."""
        self._send(json.dumps({"do": do, **arguments}).encode() + b"\n")
        reply: dict[str, Any] = json.loads(self._line(time.monotonic() + timeout_s))
        if "failed" in reply:
            raise RowFailed(reply["failed"], reply["message"])
        return reply

    def _send(self, data: bytes) -> None:
        assert self._process.stdin is not None
        if self._process.stdin.closed:
            self._died("it was closed")
        try:
            self._process.stdin.write(data)
        except BrokenPipeError:
            self._died("its process has ended")

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._pending:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                self._died("it did not answer in time")
            chunk = os.read(self._process.stdout.fileno(), 1 << 16)
            if not chunk:
                self._died("its process has ended")
            self._pending += chunk
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _died(self, what: str) -> NoReturn:
        self.close()
        raise WorkerDied(f"{what}, return code {self._process.returncode}; {self.last_words()}")

    def last_words(self, lines: int = 3) -> str:
        """The end of what the worker wrote to standard error."""
        text = self._log.read_text(errors="replace").strip().splitlines()
        return " / ".join(text[-lines:]) if text else "it left no message"

    def hang_up(self) -> None:
        """Close the pipe, which ends a healthy worker, and do not wait for it."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.stdin.close()

    def close(self) -> None:
        """Hang up and wait; kill a worker that does not end."""
        assert self._process.stdout is not None
        self.hang_up()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
