"""JVP, VJP and HVP of taenite's operations against the stored answers of PyTorch.

The bounds are 1e-9 (double) and 1e-4 (single) of the largest entry of the reference, plus some units of
round-off of the inputs, which are of order one, for references that are zero.
"""

import numpy as np
import operations
import pivots
import pytest
import records

import taenite as tn

STORED = records.file_names()
FILES = [name for name in operations.OPERATIONS if name in STORED]
DOUBLE, SINGLE = (1e-9, 1e-13), (1e-4, 1e-5)
BOUND = {"float64": DOUBLE, "complex128": DOUBLE, "float32": SINGLE, "complex64": SINGLE}

pytestmark = pytest.mark.skipif(not STORED, reason="no derivative oracles (set TAENITE_ORACLES)")


def function_of(name, record):
    make, options = operations.OPERATIONS[name], dict(record.get("op_kwargs", {}))
    if name.startswith("lu_solve"):
        options["pivots"] = pivots.of(record)
    function = make(*record.get("op_args", []), **options)
    return lambda *inputs: as_tuple(function(*inputs))


def as_tuple(outputs):
    return tuple(outputs) if isinstance(outputs, tuple) else (outputs,)


def tensors(stored):
    return tuple(tn.asarray(array) for array in records.arrays(stored).values())


def pullback(function, cotangents):
    return lambda *inputs: as_tuple(tn.vjp(function, *inputs)[1](cotangents))


def derivatives(function, inputs, probe):
    """What a probe asks for, by name; the second derivative in two ways (a real Hessian is symmetric)."""
    directions, cotangents = tensors(probe["direction"]), tensors(probe["cotangent"])
    gradient = pullback(function, cotangents)
    yield "jvp", lambda: tn.jvp(function, inputs, directions)[1]
    yield "vjp", lambda: gradient(*inputs)
    yield "hvp", lambda: tn.jvp(gradient, inputs, directions)[1]
    yield "hvp", lambda: pullback(gradient, directions)(*inputs)


def assert_close(actual, expected, bound, where):
    actual = np.asarray(actual)
    assert actual.shape == expected.shape and actual.dtype == expected.dtype, where
    if expected.size:
        relative, absolute = bound
        error, scale = np.abs(actual - expected).max(), np.abs(expected).max()
        assert error <= relative * scale + absolute, f"{where}: error {error:.3g} of {scale:.3g}"


def check(name, record):
    function, inputs = function_of(name, record), tensors(record["inputs"])
    for probe in record["probes"]:
        for kind, derive in derivatives(function, inputs, probe):
            if kind in probe["pytorch_ref"]:
                expected = records.arrays(probe["pytorch_ref"][kind])
                for (output, reference), actual in zip(expected.items(), derive(), strict=True):
                    where = f"{record['case_id']} {kind} {output}"
                    assert_close(actual, reference, BOUND[record["dtype"]], where)


def check_refused(name, record):
    """A loss that sums the vectors themselves depends on their phases."""
    function, inputs = function_of(name, record), tensors(record["inputs"])
    outputs, pull = tn.vjp(function, *inputs)
    with pytest.raises(tn.errors.GaugeError):
        pull(tuple(output * 0 + 1 for output in outputs))


def check_dtype_refused(name, record):
    with pytest.raises(TypeError, match=record["dtype"]):
        function_of(name, record)(*tensors(record["inputs"]))


def check_for(name, record):
    if record["dtype"] in operations.REFUSED_DTYPES.get(name, ()):
        return check_dtype_refused
    return check_refused if record["expected_behavior"] == "error" else check


@pytest.mark.parametrize("name", FILES)
def test_derivatives(name):
    for record in records.read(name):
        check_for(name, record)(name, record)


def test_a_wrong_derivative_is_found():
    """The tester tested: exp has none of the derivatives of sin."""
    record = next(record for record in records.read("sin__identity") if record["dtype"] == "float64")
    with pytest.raises(AssertionError, match="jvp value"):
        check("exp__identity", record)


def test_every_file_is_either_checked_or_out_of_scope():
    assert set(STORED) == set(operations.OPERATIONS) | operations.OUT_OF_SCOPE
