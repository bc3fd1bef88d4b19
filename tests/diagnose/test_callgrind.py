"""The reader of callgrind's files."""

import pytest
from hypothesis import given
from profiles import HEAD, profiles, written

from taenite.diagnose import callgrind
from taenite.diagnose.callgrind import BadProfile, Edge, Function, Profile


@given(profiles())
def test_a_profile_is_read_as_it_was_written(profile):
    cost, calls = profile
    found = callgrind.parse(written(cost, calls, "N=3"))
    assert found.label == "N=3"
    assert found.self_cost == cost
    assert found.total == sum(cost.values())
    assert {edge: (found.calls[edge], found.inclusive[edge]) for edge in found.calls} == calls


@given(profiles(), profiles())
def test_a_difference_is_what_one_profile_has_more(first, second):
    a, b = (callgrind.parse(written(*one)) for one in (first, second))
    extra = a.minus(b)
    assert extra.total == a.total - b.total
    both = Profile("", extra.self_cost + b.self_cost, extra.calls + b.calls, extra.inclusive + b.inclusive)
    assert all(both.self_cost[one] >= a.self_cost[one] for one in a.self_cost)
    assert a.minus(a).total == 0
    assert not a.minus(a).self_cost


def test_positions_relative_and_repeated_costs_add_up():
    text = HEAD + "fn=(1) f\n0x10 5\n+3 6\n* 7\n-1 8\n\ntotals: 26\n"
    assert callgrind.parse(text).self_cost == {Function("", "f"): 26}


def test_a_callee_is_in_the_file_of_its_caller_unless_said_otherwise():
    text = HEAD + "ob=(1) a\nfn=(1) f\ncfn=(2) g\ncalls=2 0\n0 9\ncob=(2) b\ncfn=(3) h\ncalls=1 0\n0 4\n"
    text += "cfn=(2)\ncalls=1 0\n0 1\n0 5\n\ntotals: 5\n"
    f, g, h = Function("a", "f"), Function("a", "g"), Function("b", "h")
    assert callgrind.parse(text).inclusive == {Edge(f, g): 10, Edge(f, h): 4}


@pytest.mark.parametrize(
    "text, message",
    [
        ("Hello\n", "not a file of callgrind"),
        (HEAD + "fn=(1) f\n0 5\n", "no total"),
        (HEAD + "fn=(1) f\n0 5\n\ntotals: 6\n", "sum to 5, but the total is 6"),
    ],
)
def test_a_file_that_cannot_be_believed_is_refused(tmp_path, text, message):
    path = tmp_path / "callgrind.1"
    path.write_text(text)
    with pytest.raises(BadProfile, match=rf"callgrind.1: .*{message}"):
        callgrind.read(path)


def test_parts_come_in_the_order_of_their_numbers(tmp_path):
    for name in ("out.10", "out.9", "out", "out.json", "other.1"):
        (tmp_path / name).write_text("")
    assert [path.name for path in callgrind.parts(tmp_path / "out")] == ["out.9", "out.10"]
