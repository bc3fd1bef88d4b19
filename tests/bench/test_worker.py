import gc
import io
import json

import numpy as np
import pytest

from taenite.bench.adapters import load
from taenite.bench.case import Row, rows
from taenite.bench.client import RowFailed, WorkerDied
from taenite.bench.worker import Worker, load_fixture, save_fixture, serve


def row_of(op) -> Row:
    return next(row for row in rows("large_ad") if row.op == op)


@pytest.fixture
def fixture_path(tmp_path):
    row = row_of("solve")
    path = tmp_path / "fixture.npz"
    save_fixture(path, row.fixture())
    return str(path)


def test_fixtures_survive_the_file(tmp_path):
    row = row_of("solve")
    fixture = row.fixture()
    save_fixture(tmp_path / "x.npz", fixture)
    found = load_fixture(tmp_path / "x.npz")
    assert all(np.array_equal(x, y) for x, y in zip(fixture.operands, found.operands, strict=True))
    assert all(np.array_equal(x, y) for x, y in zip(fixture.tangents, found.tangents, strict=True))


def test_numpy_row_from_setup_to_release(fixture_path, tmp_path):
    row, outputs = row_of("solve"), tmp_path / "out.npz"
    requests = [
        {"do": "describe"},
        {"do": "prepare", "row": row.key, "fixture": fixture_path, "outputs": str(outputs)},
        {"do": "calibrate", "interval_ns": 100_000},
        {"do": "sample", "count": 3, "batch": 2, "warmups": 1},
        {"do": "release"},
        {"do": "sample", "count": 1, "batch": 1, "warmups": 0},
    ]
    replies = io.StringIO()
    serve(Worker(load("numpy", 1)), io.StringIO("\n".join(map(json.dumps, requests))), replies)
    about, prepared, calibrated, sampled, released, refused = map(json.loads, replies.getvalue().splitlines())
    assert about["backend"]["numpy"] == np.__version__
    assert prepared["first_call_ns"] > 0 and calibrated["batch"] >= 1
    assert len(sampled["wall_ns"]) == len(sampled["cpu_ns"]) == 3
    assert sum(released["thread_masks"].values()) >= 1
    assert refused["failed"] == "error" and "no row is prepared" in refused["message"]
    assert gc.get_freeze_count() == 0
    with np.load(outputs) as file:
        row.check(load_fixture(tmp_path / "fixture.npz"))("primal", [file["arr_0"]])


def test_numpy_does_not_differentiate(fixture_path):
    row = row_of("grad_sum_solve_backward")
    replies = io.StringIO()
    request = json.dumps({"do": "prepare", "row": row.key, "fixture": fixture_path, "outputs": None})
    serve(Worker(load("numpy", 1)), io.StringIO(request), replies)
    assert json.loads(replies.getvalue())["failed"] == "unsupported"


def test_a_process_answers_through_noise_and_survives_failed_rows(fake_worker, fixture_path):
    client = fake_worker()
    assert client.ask("describe")["backend"] == {"fake": True}
    with pytest.raises(RowFailed, match="no svd here") as failed:
        client.ask("prepare", row=row_of("svd").key, fixture=fixture_path, outputs=None)
    assert failed.value.status == "unsupported"
    with pytest.raises(RowFailed, match="ValueError: qr is broken") as failed:
        client.ask("prepare", row=row_of("qr").key, fixture=fixture_path, outputs=None)
    assert failed.value.status == "error"
    client.ask("prepare", row=row_of("solve").key, fixture=fixture_path, outputs=None)
    assert len(client.ask("sample", count=2, batch=1, warmups=0)["wall_ns"]) == 2


def test_a_crash_is_noticed(fake_worker, fixture_path):
    client = fake_worker()
    with pytest.raises(WorkerDied, match="return code 9"):
        client.ask("prepare", row=row_of("eigh").key, fixture=fixture_path, outputs=None)
    with pytest.raises(WorkerDied):
        client.ask("describe")


def test_a_worker_that_hangs_is_killed(fake_worker, fixture_path):
    client = fake_worker()
    client.ask("describe")
    with pytest.raises(WorkerDied, match="did not answer in time"):
        client.ask("prepare", timeout_s=0.3, row=row_of("matmul").key, fixture=fixture_path, outputs=None)
