"""Runs that cannot begin or cannot end: a message that says what to do, an exit code, and no bundle."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from taenite.bench import commands
from taenite.bench.adapters import FILES
from taenite.bench.client import WorkerDied
from taenite.bench.run import NoWorker
from taenite.bench.toggles import parse_toggles
from taenite.cli import app


def bench(*arguments: str) -> Result:
    words = ["run", "control", "--backends", "numpy", *arguments]
    return CliRunner(env={"COLUMNS": "400", "TERM": "dumb"}).invoke(commands.app, words)


@pytest.mark.parametrize("text", ["0", "-1", "1,0", "1,1", "", "1,", "two", "1.5"])
def test_thread_counts_are_from_one_and_each_once(text: str, tmp_path: Path) -> None:
    found = bench("--threads", text, "--out", str(tmp_path / "bundle"))
    assert found.exit_code == commands.USAGE
    assert "--threads" in found.output
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize("text", ["0", "-1", "nan"])
def test_a_budget_is_positive(text: str, tmp_path: Path) -> None:
    found = bench("--budget", text, "--out", str(tmp_path / "bundle"))
    assert found.exit_code == commands.USAGE
    assert "--budget" in found.output
    assert not (tmp_path / "bundle").exists()


def test_a_toggle_is_given_once() -> None:
    with pytest.raises(ValueError, match="name each setting once, got pool=off"):
        parse_toggles(["pool=off", "env:A=1", "pool=off"])
    assert len(parse_toggles(["pool=off", "pool=0"])) == 2


def test_the_output_may_not_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = bench("--out", str(tmp_path / "file"))
    assert found.exit_code == commands.USAGE
    assert "cannot be written" in found.output


@pytest.mark.parametrize("content", [b"def (:\n", b"\xff\xfe\x00", b"x = 1\n"])
def test_an_adapter_that_is_no_python_is_named(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILES, "")
    path = tmp_path / "broken_backend.py"
    path.write_bytes(content)
    found = bench("--adapter", str(path), "--out", str(tmp_path / "bundle"))
    assert found.exit_code == commands.USAGE
    assert "is no adapter" in found.output


@pytest.mark.parametrize(
    "error, code, words",
    [
        (NoWorker("the numpy worker does not start"), commands.ERROR, "--backends"),
        (WorkerDied("its process has ended"), commands.ERROR, "its process has ended"),
        (KeyboardInterrupt(), commands.INTERRUPTED, "interrupted"),
    ],
)
def test_a_run_that_does_not_end_says_so(
    error: BaseException, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        raise error

    monkeypatch.setattr(commands, "run", fails)
    found = bench("--out", str(tmp_path / "bundle"))
    assert found.exit_code == code
    assert words in found.output
    assert "Nothing was recorded" in found.output
    assert [path.name for path in (tmp_path / "bundle").iterdir()] == ["protocol.json"]
    assert bench("--out", str(tmp_path / "bundle")).exit_code == commands.USAGE


@pytest.mark.parametrize("command", [["probe"], ["affinity"], ["attribute"]])
@pytest.mark.parametrize("where", [".", "nowhere/x.json"])
def test_a_json_file_that_cannot_be_written_is_refused_first(
    command: list[str], where: str, tmp_path: Path
) -> None:
    rest = ["sin"] if command == ["attribute"] else ["--", "true"]
    found = CliRunner(env={"COLUMNS": "400"}).invoke(app, [*command, "--json", str(tmp_path / where), *rest])
    assert found.exit_code == commands.USAGE
    assert "directory" in found.output
