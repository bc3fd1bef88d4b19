"""Contractions: single products of two tensors, and networks along a fixed path, forward and backward.

The generators are of the kinds that users of tensor networks meet: chains of matrices, matrix-product states,
a multi-scale network (MERA), likelihoods of a matrix-product language model, a graphical model. Files in the
format of the public einsum benchmark join them: see `register_instances`. Operands are positive, so that
nothing cancels and rounding is relative to the result itself.
"""

from __future__ import annotations

import json
import math
import os
import string
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import fixtures
from ..case import Check, Fixture, Outputs, Size, case
from ..networks import Network, contract, gradients, greedy, in_turn, numpy_einsum
from ..verify import Reference, bound, close, loss_oracle
from ..work import Cost, one

SUITE = ("einsum",)
INSTANCES = "TAENITE_INSTANCES"
"""The environment variable that names a directory of instance files."""


def labels(count: int) -> str:
    """Distinct characters, letters first."""
    return (string.ascii_letters + "".join(map(chr, range(0x100, 0x100 + max(0, count - 52)))))[:count]


def matrix_chain(count: int, n: int) -> Network:
    """Matrices whose orders alternate between n and n / 2."""
    names, orders = labels(count + 1), [n if k % 2 == 0 else n // 2 for k in range(count + 1)]
    terms = [names[k : k + 2] for k in range(count)]
    shapes = tuple((orders[k], orders[k + 1]) for k in range(count))
    return Network(f"{','.join(terms)}->{names[0]}{names[-1]}", shapes, in_turn(count))


def mps_inner_product(sites: int, bond: int) -> Network:
    """Two matrix-product states of physical dimension 2, contracted site by site, like a zip."""
    names = labels(3 * sites + 2)
    up, down, site = names[: sites + 1], names[sites + 1 : 2 * sites + 2], names[2 * sites + 2 :]
    terms, shapes = [], []
    for k in range(sites):
        ends = (1 if k == 0 else bond, 1 if k == sites - 1 else bond)
        for row in (up, down):
            terms.append(row[k] + site[k] + row[k + 1])
            shapes.append((ends[0], 2, ends[1]))
    return Network(f"{','.join(terms)}->", tuple(shapes), in_turn(2 * sites))


def mera(bond: int) -> Network:
    """A two-site operator in one layer of a binary MERA: state above, isometries, a disentangler, twice."""
    ket = ("ab", "aij", "bkl", "jkmn")
    bra = ("AB", "AiJ", "BKl", "JKMN")
    terms = (*ket, "mnMN", *bra)
    return with_greedy_path(",".join(terms) + "->", dict.fromkeys("abijklmnABJKMN", bond))


def language_model(batch: int, length: int, bond: int) -> Network:
    """The likelihoods of a batch of sentences under a matrix-product model of 8 words."""
    names = labels(2 * length + 2)
    batch_label, bonds, words = names[0], names[1 : length + 2], names[length + 2 :]
    terms, shapes = [], []
    for k in range(length):
        ends = (1 if k == 0 else bond, 1 if k == length - 1 else bond)
        terms += [batch_label + words[k], bonds[k] + words[k] + bonds[k + 1]]
        shapes += [(batch, 8), (ends[0], 8, ends[1])]
    path = in_turn(2 * length)
    return Network(f"{','.join(terms)}->{batch_label}", tuple(shapes), path)


def grid_model(side: int, states: int) -> Network:
    """The partition function of a square grid of variables with a factor for every neighbouring pair."""
    name = np.array(list(labels(side * side))).reshape(side, side)
    across = [name[i, j] + name[i, j + 1] for i in range(side) for j in range(side - 1)]
    along = [name[i, j] + name[i + 1, j] for i in range(side - 1) for j in range(side)]
    return with_greedy_path(",".join(across + along) + "->", dict.fromkeys(name.ravel(), states))


def with_greedy_path(equation: str, sizes: dict[str, int]) -> Network:
    shapes = tuple(tuple(sizes[label] for label in term) for term in equation.partition("->")[0].split(","))
    return Network(equation, shapes, greedy(equation, shapes))


def binary(equation: str, **sizes: int) -> Network:
    """A product of two tensors, its sizes given by label."""
    terms = equation.partition("->")[0].split(",")
    return Network(equation, tuple(tuple(sizes[x] for x in term) for term in terms), ((0, 1),))


def operands_of(network: Network) -> Fixture:
    """Positive operands, scaled so that the result has elements near one."""
    rng = fixtures.generator(28, len(network.shapes), *network.shapes[0])
    summed = set("".join(network.terms)) - set(network.output)
    mean = math.exp(-math.log(max(1, network.elements("".join(summed)))) / len(network.shapes))
    return Fixture(tuple(mean * rng.uniform(0.5, 1.5, shape) for shape in network.shapes))


def value_oracle(network: Network) -> Callable[[Fixture], Check]:
    """NumPy along the same path. Complex products may cancel: they are judged by the product of the sizes."""

    def oracle(fixture: Fixture) -> Check:
        wanted = contract(numpy_einsum, network, fixture.operands)
        sizes = contract(numpy_einsum, network, [np.abs(x) for x in fixture.operands])

        def check(phase: str, outputs: Outputs) -> None:
            tolerance = bound(network.summed, unit=fixture.unit)
            close("contraction", outputs[0], wanted, tolerance, float(np.linalg.norm(sizes)))

        return check

    return oracle


def gradient_oracle(network: Network) -> Callable[[Fixture], Check]:
    def reference(*operands: Any) -> Reference:
        total, slopes = gradients(network, operands)
        return Reference(float(total.sum()), slopes, float(network.summed), float(total.sum()))

    return loss_oracle(reference)


def cost_of(network: Network) -> Cost:
    reads = sum(map(math.prod, network.shapes))
    return Cost(
        lambda *_: reads,
        lambda *_: network.flops,
        lambda *_: math.prod(network.output_shape),
        reverse=lambda *_: 2 * network.flops,
    )


def register(
    name: str,
    label: str,
    text: str,
    network: Network,
    *,
    suites: tuple[str, ...] = SUITE,
    dtypes: tuple[str, ...] = ("float64",),
    differentiated: bool = False,
) -> None:
    """A case for the contraction, and one for the gradients of its sum in all operands."""

    def contraction(xp: Any, *operands: Any) -> Any:
        return xp.contract(network, operands)

    def total(xp: Any, *operands: Any) -> Any:
        return xp.contract(network, operands).sum()

    contraction.__doc__, total.__doc__ = text, f"{text} Its sum, differentiated in every operand."
    sizes, cost = (Size(label, (len(network.shapes),)),), cost_of(network)
    case(
        name,
        suites=suites,
        phases={"primal": sizes},
        fixture=lambda _: operands_of(network),
        oracle=value_oracle(network),
        work=cost,
        dtypes=dtypes,
    )(contraction)
    if differentiated:
        case(
            f"grad_{name}",
            suites=suites,
            phases={"backward": sizes, "pullback": sizes},
            fixture=lambda _: operands_of(network),
            oracle=gradient_oracle(network),
            work=replace(cost, writes=one),
            wrt=tuple(range(len(network.shapes))),
        )(total)


ALL_DTYPES = ("float64", "float32", "complex64", "complex128")
BINARY = (
    ("product", "ij,jk->ik", {"i": 256, "j": 256, "k": 256}),
    ("product_transposed", "ji,kj->ki", {"i": 256, "j": 256, "k": 256}),
    ("batched_product", "bij,bjk->bik", {"b": 32, "i": 128, "j": 128, "k": 128}),
    ("small_batched_product", "ijb,jkb->ikb", {"i": 8, "j": 8, "k": 8, "b": 4}),
    ("outer_product", "i,j->ij", {"i": 2048, "j": 2048}),
    ("batched_outer_product", "bi,bj->bij", {"b": 256, "i": 64, "j": 64}),
    ("hadamard", "ij,ij->ij", {"i": 512, "j": 512}),
    ("inner_product", "ijk,ijk->", {"i": 64, "j": 64, "k": 64}),
    ("permuted_product", "abcd,dbef->acef", dict.fromkeys("abcdef", 16)),
    ("batch_in_the_middle", "ibjk,kbl->jbil", {"i": 16, "b": 32, "j": 16, "k": 64, "l": 32}),
)
for name, equation, sizes in BINARY:
    register(
        f"einsum_{name}",
        ",".join(f"{label}={size}" for label, size in sizes.items()),
        f"{equation}: a single contraction of two tensors.",
        binary(equation, **sizes),
        dtypes=ALL_DTYPES,
        differentiated=name in ("batched_product", "permuted_product"),
    )

for count, n in ((10, 64), (100, 32)):
    register(
        f"matrix_chain_{count}",
        f"n={n}",
        f"A chain of {count} matrices, from the left to the right.",
        matrix_chain(count, n),
        differentiated=True,
    )
for sites, bond in ((20, 8), (40, 32)):
    register(
        f"mps_inner_product_{sites}",
        f"bond={bond}",
        f"The inner product of two matrix-product states of {sites} sites.",
        mps_inner_product(sites, bond),
        differentiated=True,
    )
for bond in (4, 8):
    register(
        f"mera_{bond}",
        f"bond={bond}",
        "The expectation of a two-site operator in one layer of a binary MERA.",
        mera(bond),
        differentiated=True,
    )
for batch, length, bond in ((64, 6, 8), (256, 10, 16)):
    register(
        f"language_model_{length}",
        f"batch={batch},bond={bond}",
        f"The likelihoods of sentences of {length} words under a matrix-product language model.",
        language_model(batch, length, bond),
        differentiated=True,
    )
for side, states in ((3, 8), (5, 4)):
    register(
        f"grid_model_{side}",
        f"{side}x{side},states={states}",
        "The partition function of a graphical model on a square grid.",
        grid_model(side, states),
        differentiated=True,
    )


class BadInstance(ValueError):
    """A file that does not hold a contraction along paths of pairs."""


def register_instances(directory: Path) -> None:
    """Every file of the directory that holds a contraction, once for each of its different paths."""
    if not directory.is_dir():
        raise BadInstance(f"bench: {directory}, named as a directory of instances, is none.")
    for file in sorted(directory.glob("*.json")):
        found = json.loads(file.read_text())
        if "paths" in found:
            register_instance(file, found)


def register_instance(file: Path, found: dict[str, Any]) -> None:
    networks = instance_networks(file, found)
    for which, network in networks.items():
        name = found["name"] if len(networks) == 1 else f"{found['name']}.{which}"
        text = f"The instance {found['name']} along its path {which}."
        register(
            name,
            f"{len(network.shapes)} tensors",
            text,
            network,
            suites=("einsum", "instances"),
            dtypes=(found["dtype"],),
        )


def relabelled(equation: str) -> str:
    """With letters only: files use digits and other characters where letters run out."""
    given = dict.fromkeys(equation.replace(",", "").replace("->", ""))
    return equation.translate({ord(old): new for old, new in zip(given, labels(len(given)), strict=True)})


def instance_networks(file: Path, found: dict[str, Any]) -> dict[str, Network]:
    """The networks by the name of their path; two paths that are equal are one."""
    equation = relabelled(found.get("format_string_rowmajor") or found["format_string"])
    shapes = tuple(map(tuple, found["shapes"]))
    networks: dict[Any, tuple[str, Network]] = {}
    for which, entry in found["paths"].items():
        path = tuple(map(tuple, entry["path"]))
        if any(len(step) != 2 for step in path) or len(path) != len(shapes) - 1:
            raise BadInstance(f"bench: {file}: path {which} is not made of {len(shapes) - 1} pairs.")
        networks.setdefault(path, (which, Network(equation, shapes, path)))
    return dict(networks.values())


if INSTANCES in os.environ:
    register_instances(Path(os.environ[INSTANCES]))
