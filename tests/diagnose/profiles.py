"""Files of callgrind, written by the tests, and profiles to write."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from taenite.diagnose.callgrind import Edge, Function

HEAD = "# callgrind format\nversion: 1\ncreator: callgrind-3.19.0\npid: 7\ncmd: python\npart: 1\n"
OPENBLAS, CORE = "/env/lib/libscipy_openblas.so", "/env/taenite/_core.so"
LIBC, TORCH = "/usr/lib/libc.so.6", "/env/torch/lib/libtorch_cpu.so"
PYTHON, GOMP = "/usr/lib/libpython3.11.so.1.0", "/env/lib/libgomp.so.1"


class Names:
    """Names as callgrind compresses them: in full the first time, by number after that."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        known = name in self._numbers
        number = self._numbers.setdefault(name, len(self._numbers) + 1)
        return f"({number})" if known else f"({number}) {name}"


def written(
    cost: Mapping[Function, int], calls: Mapping[Edge, tuple[int, int]] | None = None, label: str = "N=1"
) -> str:
    """A part of a profile: self costs, and (count, inclusive) of each call."""
    objects, functions, lines = Names(), Names(), [HEAD, f"desc: Trigger: Client Request: {label}", ""]
    lines += ["positions: line", "events: Ir", f"summary: {sum(cost.values())}", ""]
    for function in {**cost, **{edge.caller: 0 for edge in calls or {}}}:
        lines += [
            f"ob={objects(function.object)}",
            f"fn={functions(function.name)}",
            f"0 {cost.get(function, 0)}",
        ]
        for edge, (count, inclusive) in (calls or {}).items():
            if edge.caller == function:
                if edge.callee.object != function.object:
                    lines.append(f"cob={objects(edge.callee.object)}")
                lines += [f"cfn={functions(edge.callee.name)}", f"calls={count} 0", f"0 {inclusive}"]
    return "\n".join([*lines, "", f"totals: {sum(cost.values())}", ""])


NAMES = st.text(st.characters(codec="ascii", exclude_characters="\r\n\v\f\x1c\x1d\x1e"), min_size=1).filter(
    lambda name: name == name.strip() and not name.startswith("(")
)
FUNCTIONS = st.builds(Function, NAMES, NAMES)
COSTS = st.dictionaries(FUNCTIONS, st.integers(1, 10**12), min_size=1, max_size=6)


@st.composite
def profiles(draw):
    cost = draw(COSTS)
    pairs = st.builds(Edge, st.sampled_from(list(cost)), st.sampled_from(list(cost)))
    return cost, draw(
        st.dictionaries(pairs, st.tuples(st.integers(1, 99), st.integers(1, 10**12)), max_size=6)
    )
