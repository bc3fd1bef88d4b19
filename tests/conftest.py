"""A test that is skipped for a reason that is not listed here fails the run: what is skipped on every machine
would never run at all.
"""

import os
import re

import pytest

os.environ.setdefault("TAENITE_CHECK_GRAPHS", "1")  # every pass over a graph is checked

pytest_plugins = ["pytester"]

# What a machine may lack.
ABSENT = (
    r"\w+ is an optional peer",
    r"(openblas|mkl|system|valgrind) is not installed here",
    r"BLIS and a LAPACK library are not both installed here",
    r"no derivative oracles",
    r"this CPU has no AVX-512",
    r"this NumPy bundles no OpenBLAS with 64-bit integers",
    r"needs (/proc|fork|Linux|two CPUs|a C compiler)",
    r"NumPy does not differentiate",
)

_unexpected: list[str] = []


def _note(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""
    if not any(re.match(pattern, reason) for pattern in ABSENT):
        _unexpected.append(f"{report.nodeid}: {reason}")


pytest_runtest_logreport = pytest_collectreport = _note


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _unexpected and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _unexpected:
        terminalreporter.section("skipped for a reason that tests/conftest.py does not list", red=True)
        for line in _unexpected:
            terminalreporter.write_line(line)
