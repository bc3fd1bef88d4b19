"""Arms and toggles: what runs beside what, and what a toggle changes in its own process only."""

import subprocess
import sys

import pytest

import taenite as tn
from taenite.bench import machine
from taenite.bench.arms import Arm, arms, backend_of, is_twin, ours
from taenite.bench.client import environment, worker_command
from taenite.bench.toggles import KINDS, parse_toggle


def labels(*backends, toggles=()):
    return [arm.label for arm in arms(backends, [parse_toggle(text) for text in toggles])]


def test_every_run_has_a_twin_of_the_first_backend_under_test():
    assert labels("torch", "eager", "compiled") == ["torch", "eager", "compiled", "eager@aa"]
    assert labels("numpy") == ["numpy", "numpy@aa"]
    assert is_twin("eager@aa") and not is_twin("eager") and backend_of("eager@aa") == "eager"


def test_a_toggle_is_one_more_arm_of_each_backend_under_test():
    found = labels("eager", "compiled", "torch", toggles=["pool=off"])
    assert found[-2:] == ["eager@pool=off", "compiled@pool=off"]
    assert ours(found) == ["eager", "compiled"]


@pytest.mark.parametrize(
    "text",
    [
        "pool",
        "pool=",
        "nonsense=1",
        "env:=1",
        "pool=much",
        "cpus=first",
        "cpus=4095",
        "cpus=0,0",
        "provider=none",
        "gemm=none",
        "skip=fresh",
    ],
)
def test_a_toggle_that_cannot_be_is_refused_with_the_names(text):
    with pytest.raises(ValueError, match=r"--toggle: .*, got "):
        parse_toggle(text)


def test_what_a_toggle_sets_before_the_worker_starts(tmp_path):
    def made(text):
        arm = Arm("eager", text, parse_toggle(text))
        return environment(arm, 1, tmp_path), worker_command(arm, 1, [1])

    env, command = made("env:TAENITE_PLANTED=7")
    assert env["TAENITE_PLANTED"] == "7" and "--toggle=env:TAENITE_PLANTED=7" in command
    assert made("skip=cse,group")[0]["TAENITE_SKIP_PASSES"] == "cse,group"
    assert "--cpus=0,1" in made("cpus=0,1")[1] and "--cpus=1" in made("pool=off")[1]


def test_what_a_toggle_sets_in_the_worker():
    before = tn.pool.stats()["cap_bytes"]
    try:
        parse_toggle("pool=off").apply()
        assert tn.pool.stats()["cap_bytes"] == 0
    finally:
        tn.pool.set_cap(before)


SKIPPED = """
import taenite as tn
f = tn.compile(lambda x: tn.exp(x * x) + tn.exp(x * x))
x = tn.asarray([1.0, 2.0])
print(str(f.prepare(x)).count("group:"), float(f(x).sum()))
"""


def run_python(source, **variables):
    env = {"PYTHONPATH": ":".join(sys.path), **variables}
    return subprocess.run([sys.executable, "-c", source], env=env, capture_output=True, text=True)


def test_a_pass_can_be_left_out():
    grouped, plain = run_python(SKIPPED), run_python(SKIPPED, TAENITE_SKIP_PASSES="group")
    assert grouped.returncode == plain.returncode == 0, plain.stderr
    assert (grouped.stdout.split()[0], plain.stdout.split()[0]) == ("1", "0")
    assert grouped.stdout.split()[1] == plain.stdout.split()[1]


def test_an_unknown_pass_is_named():
    failed = run_python(SKIPPED, TAENITE_SKIP_PASSES="nonsense")
    assert failed.returncode != 0 and "TAENITE_SKIP_PASSES: names of" in failed.stderr


@pytest.mark.parametrize(
    "text", ["pool=off", "pool=0", "gemm=native", "skip=cse,group", "cpus=0", "env:A=b=c"]
)
def test_toggles_that_can_be(text):
    if text == "cpus=0" and 0 not in machine.affinity():
        text = f"cpus={machine.affinity()[0]}"
    assert str(parse_toggle(text)) == text


def test_the_help_names_every_toggle():
    assert {"pool", "provider", "gemm", "skip", "cpus"} < set(KINDS)
