"""Outputs of a program are tensors of their own, by graphs before and after."""

from build import Builder, names

from taenite.graph.check import check
from taenite.graph.passes import fresh


def test_equal_outputs_and_constants_are_copied():
    b = Builder()
    x = b.input(3)
    y = b.call("exp", x)
    c = b.constant([1.0, 2.0])
    after = fresh.run(b.graph(y, y, c, x, x))
    check(after)
    assert names(after) == ["exp", "astype", "astype"]
    assert [i.inputs for i in after.instructions[1:]] == [(y,), (c,)]
    assert len({*after.outputs[:3]}) == 3 and after.outputs[3:] == (x, x)


def test_views_of_what_is_given_already_are_copied():
    b = Builder()
    x = b.input(3)
    y = b.call("exp", x)
    view = b.call("transpose", y, perm=(0,))
    of_input = b.call("transpose", x, perm=(0,))
    after = fresh.run(b.graph(y, view, x, of_input))
    check(after)
    assert names(after) == ["exp", "transpose", "transpose", "astype"]
    assert after.instructions[-1].inputs == (view,) and after.outputs[2:] == (x, of_input)


def test_other_graphs_stay():
    b = Builder()
    graph = b.graph(b.call("exp", b.input(3)))
    assert fresh.run(graph) is graph
