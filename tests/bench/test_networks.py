"""Networks are evaluated as NumPy evaluates the whole equation, and files of contractions become cases."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from taenite.bench import case as registry
from taenite.bench.case import rows
from taenite.bench.cases import einsum
from taenite.bench.commands import app
from taenite.bench.networks import Network, contract, gradients, numpy_einsum

NETWORKS = {
    "chain": einsum.matrix_chain(5, 4),
    "mps": einsum.mps_inner_product(4, 3),
    "mera": einsum.mera(2),
    "language": einsum.language_model(3, 3, 2),
    "grid": einsum.grid_model(3, 2),
    "own labels": Network("abx,bc->ca", ((2, 3, 4), (3, 5)), ((0, 1),)),
}
INSTANCE = {
    "name": "three",
    "format_string_rowmajor": "01,12,23->03",
    "shapes": [[2, 3], [3, 4], [4, 5]],
    "dtype": "float64",
    "paths": {
        "opt_size": {"path": [[0, 1], [0, 1]]},
        "opt_flops": {"path": [[1, 2], [0, 1]]},
        "again": {"path": [[0, 1], [0, 1]]},
    },
}


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.delenv(einsum.INSTANCES, raising=False)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_pairs_give_what_the_whole_equation_gives(network):
    operands = einsum.operands_of(network).operands
    wanted = np.einsum(network.equation, *operands)
    assert np.allclose(contract(numpy_einsum, network, operands), wanted, rtol=1e-13)
    assert wanted.shape == network.output_shape and 1e-3 < wanted.mean() < 1e3


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_gradients_of_a_multilinear_function_are_its_values(network):
    """The sum is linear in each operand: a step along a tangent changes it by exactly the slope."""
    operands = einsum.operands_of(network).operands
    total, slopes = gradients(network, operands)
    rng = np.random.default_rng(5)
    for index, (operand, slope) in enumerate(zip(operands, slopes, strict=True)):
        tangent = rng.standard_normal(operand.shape)
        moved = [*operands[:index], operand + tangent, *operands[index + 1 :]]
        change = contract(numpy_einsum, network, moved).sum() - total.sum()
        assert abs(change - np.vdot(slope, tangent)) <= 1e-12 * np.linalg.norm(slope) * np.linalg.norm(
            tangent
        )


def test_operations_of_a_product_and_of_a_path():
    assert einsum.binary("ij,jk->ik", i=2, j=3, k=4).flops == 2 * 24
    assert einsum.binary("i,j->ij", i=2, j=3).flops == 6
    assert einsum.matrix_chain(3, 4).flops == 2 * (4 * 2 * 4 + 4 * 4 * 2)


def test_a_file_is_a_case_for_each_different_path(tmp_path):
    (tmp_path / "three.json").write_text(json.dumps(INSTANCE))
    (tmp_path / "other.json").write_text("{}")
    einsum.register_instances(tmp_path)
    found = rows("instances")
    assert [row.op for row in found] == ["three.opt_size", "three.opt_flops"]
    assert all("einsum" in row.suites for row in found)
    for row in found:
        fixture = row.fixture()
        a, b, c = fixture.operands
        row.check(fixture)("primal", [a @ b @ c])
        with pytest.raises(registry.Disagreement, match="contraction"):
            row.check(fixture)("primal", [a @ b @ c * (1 + 1e-9)])


def test_files_that_are_no_contraction_of_pairs_are_refused(tmp_path):
    with pytest.raises(einsum.BadInstance, match="is none"):
        einsum.register_instances(tmp_path / "absent")
    triple = {**INSTANCE, "paths": {"opt": {"path": [[0, 1, 2]]}}}
    (tmp_path / "triple.json").write_text(json.dumps(triple))
    with pytest.raises(einsum.BadInstance, match="not made of 2 pairs"):
        einsum.register_instances(tmp_path)
    done = CliRunner().invoke(app, ["run", "einsum", "--instances", str(tmp_path)])
    assert done.exit_code == 2
