"""Observers: what they count, how they nest, and that workspace queries are cached."""

import threading

import pytest

import taenite as tn
from taenite.observe import Call, Volume


def test_every_routine_is_counted_under_its_base_name():
    with tn.observe() as seen:
        tn.providers.check(n=4)
    assert set(seen.counts) == set(tn.providers.ROUTINES)
    assert seen.counts["gemm"] == 4 and seen.counts["syevd"] == 4  # one for each type
    assert seen.counts["gesvd"] == 0
    assert all(seen.seconds[routine] > 0 for routine in seen.counts) and seen.seconds["gesvd"] == 0


def test_nothing_is_counted_outside():
    with tn.observe() as seen:
        pass
    tn.providers.check(n=4)
    assert seen.counts == {} and seen.allocations == Volume(0, 0)


def test_observers_nest():
    with tn.observe() as outer:
        tn.providers.check(n=4)
        with tn.observe() as inner:
            tn.providers.check(n=4)
    assert (outer.counts["getrf"], inner.counts["getrf"]) == (8, 4)
    assert outer.allocations.bytes > inner.allocations.bytes > 0


def test_numbers_can_be_read_while_open():
    with tn.observe() as seen:
        assert seen.counts["getrf"] == 0
        tn.providers.check(n=4)
        assert seen.counts["getrf"] == 4


def test_all_threads_are_counted():
    threads = [threading.Thread(target=tn.providers.check, kwargs={"n": 4}) for _ in range(4)]
    with tn.observe() as seen:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen.counts["potrf"] == 16


def test_shapes_keep_dimensions_in_order():
    with tn.observe(shapes=True) as outer:
        tn.providers.check(n=3)
        with tn.observe(shapes=True) as inner:
            tn.providers.check(n=2)
    assert inner.shapes[0] == Call("gemm", "float32", (2, 2, 2))
    assert Call("gesdd", "complex128", (2, 2)) in inner.shapes
    assert len(inner.shapes) == sum(inner.counts.values())
    assert len(outer.shapes) == sum(outer.counts.values()) > len(inner.shapes)


def test_shapes_must_be_asked_for():
    with tn.observe() as seen:
        pass
    with pytest.raises(ValueError, match=r"observe\(shapes=True\)"):
        _ = seen.shapes


def test_workspace_is_asked_for_once_per_shape():
    tn.providers.check(n=7)
    with tn.observe() as again:
        tn.providers.check(n=7)
    with tn.observe() as other:
        tn.providers.check(n=9)
    assert again.workspace_queries == 0 < other.workspace_queries


def test_an_observer_is_used_once():
    seen = tn.observe()
    with pytest.raises(RuntimeError, match="nothing was observed"):
        _ = seen.counts
    with seen:
        pass
    with pytest.raises(RuntimeError, match="used once"), seen:
        pass


def test_an_exception_closes_it():
    with pytest.raises(KeyError), tn.observe() as seen:
        raise KeyError
    tn.providers.check(n=4)
    assert seen.counts == {}


def test_repr_is_a_table():
    with tn.observe() as seen:
        tn.providers.check(n=4)
    lines = repr(seen).splitlines()
    assert lines[0] == "observed" and repr(tn.observe()) == "observe(not started)"
    assert any(line.split()[:2] == ["gemm", "4"] for line in lines)
    assert lines[-1].split()[0] == "allocations" and lines[-1].endswith("bytes")


def test_shapes_need_an_observation_too():
    with pytest.raises(RuntimeError, match="nothing was observed yet"):
        _ = tn.observe(shapes=True).shapes
