"""Running somebody else's command: its streams, its signals and its exit code stay its own."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType


class CannotStart(Exception):
    """The command could not be started; ``code`` is what a shell would exit with."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def start(command: Sequence[str], environment: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Start a command on our own standard streams, so that no amount of output can block it."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    try:
        return subprocess.Popen(list(command), env=environment)
    except FileNotFoundError as error:
        raise CannotStart(f"{command[0]}: no such command; give its path.", 127) from error
    except OSError as error:
        raise CannotStart(f"{command[0]}: cannot be run: {error.strerror}.", 126) from error


def watch(child: subprocess.Popen[bytes], interval: float, look: Callable[[], None]) -> int:
    """Call ``look`` every ``interval`` seconds until the child ends, and return its exit code."""
    with _signals_for(child):
        while True:
            look()
            try:
                return exit_code(child.wait(timeout=interval))
            except subprocess.TimeoutExpired:
                continue


def wait(child: subprocess.Popen[bytes]) -> int:
    """The exit code of a child, once it has ended."""
    with _signals_for(child):
        return exit_code(child.wait())


def exit_code(returncode: int) -> int:
    """As a shell passes it on: 128 and the signal's number for a child that a signal ended."""
    return returncode if returncode >= 0 else 128 - returncode


@contextmanager
def _signals_for(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """The terminal interrupts the child itself; a request to end is handed on. We stay, to report."""

    def hand_on(number: int, frame: FrameType | None) -> None:
        child.send_signal(number)

    before = [
        (signal.SIGINT, signal.signal(signal.SIGINT, lambda number, frame: None)),
        (signal.SIGTERM, signal.signal(signal.SIGTERM, hand_on)),
    ]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)
