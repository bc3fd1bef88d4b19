"""`taenite affinity`: children that behave and children that do not."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from taenite.bench.cpus import compact_cpu_list, expand_cpu_list
from taenite.cli import app
from taenite.diagnose.affinity import judge

if not os.path.exists("/proc/self/task"):
    pytest.skip("needs /proc", allow_module_level=True)

CPUS = sorted(os.sched_getaffinity(0))
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")


def affinity(code, *options, program=(sys.executable, "-c"), **settings):
    command = [
        sys.executable,
        "-m",
        "taenite.cli",
        "affinity",
        "--interval",
        "10",
        *options,
        "--",
        *program,
        code,
    ]
    return subprocess.run(command, capture_output=True, text=True, **settings)


def found(tmp_path, code):
    """The report, from a run within this process."""
    file = tmp_path / "found.json"
    command = ["affinity", "--interval", "10", "--json", str(file), "--", sys.executable, "-c", code]
    done = CliRunner().invoke(app, command)
    return done, json.loads(file.read_text())


def test_a_child_that_behaves_gives_0(tmp_path):
    done, report = found(tmp_path, "import time; time.sleep(0.2)")
    assert done.exit_code == 0
    assert report["faults"] == [] and report["domain"] == compact_cpu_list(CPUS)
    assert [one["kind"] for one in report["threads"]] == ["main (Python)"]


@two_cpus
def test_a_child_that_confines_itself_is_reported(tmp_path):
    code = f"import os, time; os.sched_setaffinity(0, [{CPUS[0]}]); time.sleep(0.3)"
    done, report = found(tmp_path, code)
    assert done.exit_code == 1
    assert f"may not use all of the domain {compact_cpu_list(CPUS)}" in done.stderr
    assert report["faults"] and report["threads"][0]["verdict"] == "confined"


@two_cpus
def test_a_thread_of_a_grandchild_that_confines_itself_is_reported(tmp_path):
    inner = f"import os, threading, time\ndef work(): os.sched_setaffinity(0, [{CPUS[0]}]); time.sleep(0.4)\n"
    inner += "t = threading.Thread(target=work); t.start(); t.join()"
    done, report = found(
        tmp_path, f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    )
    assert done.exit_code == 1
    (fault,) = [one for one in report["threads"] if one["verdict"] == "confined"]
    assert fault["tid"] != fault["pid"] and fault["pid"] != report["threads"][0]["pid"]


@two_cpus
def test_a_child_outside_of_the_given_domain_strays():
    done = affinity("import time; time.sleep(0.2); print('hello')", "--cpus", str(CPUS[0]))
    assert (done.returncode, done.stdout) == (1, "hello\n")
    assert f"may run outside of the domain {CPUS[0]}" in done.stderr


def test_masks_are_judged_against_the_domain():
    assert judge({0}, {0, 1}) == "confined"
    assert judge({0, 1, 2}, {0, 1}) == judge({2}, {0, 1}) == "strays"
    assert judge({0, 1}, {0, 1}) == "ok"


@pytest.mark.parametrize("ending, code", [("raise SystemExit(7)", 7), ("os.kill(os.getpid(), 9)", 137)])
def test_the_code_of_a_child_that_fails_is_passed_on(ending, code):
    pin = f"import os, time; os.sched_setaffinity(0, [{CPUS[0]}]); time.sleep(0.1); "
    assert affinity(pin + ending).returncode == code


def test_much_output_does_not_block():
    done = affinity("import sys; sys.stdout.write('x' * 2**20); sys.stderr.write('y' * 2**20)", timeout=60)
    assert done.returncode == 0
    assert done.stdout == "x" * 2**20 and done.stderr.startswith("y" * 2**20)


def test_the_standard_input_is_the_childs():
    assert affinity("print(input())", input="typed\n").stdout == "typed\n"


def test_options_after_the_command_are_the_commands():
    done = affinity("--json", program=(sys.executable, "-c", "import sys; print(sys.argv[1:])"))
    assert done.stdout == "['--json']\n"


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["--cpus", "x", "--", "true"], 2),
        (["--cpus", "100000", "--", "true"], 2),
        (["--cpus", "", "--", "true"], 2),
        (["--", "/no/such/command"], 127),
        (["--", "/"], 126),
        ([], 2),
    ],
)
def test_what_cannot_be_done_is_refused(arguments, code):
    done = CliRunner().invoke(app, ["affinity", *arguments])
    assert done.exit_code == code and done.stderr


WORKERS = """
import os, threading, time
import numpy as np, taenite as tn
threading.Thread(target=time.sleep, args=(0.6,)).start()
a = np.random.rand(300, 300)
with tn.threads(2):
    tn.matmul(tn.asarray(a), tn.asarray(a))
time.sleep(0.5)
"""


@pytest.mark.skipif(sys.maxsize < 2**32 or os.uname().machine != "x86_64", reason="needs Linux on x86-64")
@two_cpus
def test_threads_are_known_by_the_function_they_started_with(tmp_path):
    done, report = found(tmp_path, WORKERS)
    assert done.exit_code == 0, done.stderr
    kinds = {one["kind"]: one["evidence"] for one in report["threads"]}
    assert kinds["main (Python)"] == "name"
    assert kinds["Python"] == "stack"
    assert kinds["taenite"] == "stack"
    assert any(one["name"] == "taenite" for one in report["threads"])


ranges = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 30), st.integers(1, 6), st.integers(1, 6)),
    min_size=1,
    max_size=5,
)


@given(ranges)
def test_ranges_are_expanded_with_their_strides(parts):
    texts, expected = [], set()
    for first, length, one, other in parts:
        used, group = min(one, other), max(one, other)
        texts.append(f"{first}-{first + length}:{used}/{group}")
        expected |= {first + i for i in range(length + 1) if i % group < used}
    assert expand_cpu_list(", ".join(texts)) == expected
    assert expand_cpu_list(compact_cpu_list(expected)) == expected


@pytest.mark.parametrize(
    "text, cpus",
    [
        ("", set()),
        ("\n", set()),
        ("3", {3}),
        ("0-2,5,8-11:2", {0, 1, 2, 5, 8, 10}),
        ("0-7:2/4", {0, 1, 4, 5}),
    ],
)
def test_examples_of_ranges(text, cpus):
    assert expand_cpu_list(text) == cpus


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "1,,2", "0-4:0", "0-4:3/2", "1:2", "0x1"])
def test_what_is_no_range_is_refused(text):
    with pytest.raises(ValueError, match="expand_cpu_list"):
        expand_cpu_list(text)
