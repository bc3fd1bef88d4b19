"""The two examples: right beside other people's answers, and they run as a user would run them."""

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

import taenite as tn
from taenite.bench import formulas

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def gaussian_process():
    pytest.importorskip("matplotlib", reason="the examples draw")
    pytest.importorskip("sklearn", reason="the data and the reference are scikit-learn's")
    return load("gaussian_process")


@pytest.fixture(scope="module")
def ising():
    pytest.importorskip("matplotlib", reason="the examples draw")
    return load("ising_trg")


LOG_PARAMS = {
    "isotropic": np.array([0.3, -0.7, 1.1]),
    "one per feature": np.concatenate([[0.3, -0.7], np.linspace(0.5, 2.0, 10)]),
}


@pytest.mark.parametrize("kind", LOG_PARAMS)
def test_log_marginal_likelihood_is_that_of_scikit_learn(gaussian_process, kind):
    """Both sum over the same Cholesky factor of condition 1e3: they agree to 1e-8 with a wide margin."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    x, y, _ = gaussian_process.load()
    signal, noise, *scales = np.exp(LOG_PARAMS[kind])
    kernel = ConstantKernel(signal) * RBF(scales if len(scales) > 1 else scales[0])
    theirs = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(x, y)
    ours = gaussian_process.log_marginal_likelihood(*map(tn.asarray, (LOG_PARAMS[kind], x, y)))
    assert float(ours) == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-8)
    np.testing.assert_allclose(
        gaussian_process.predict(LOG_PARAMS[kind], x, y, x[:20]), theirs.predict(x[:20]), rtol=1e-8
    )


def test_the_gradient_is_that_of_scikit_learn(gaussian_process):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    x, y, _ = gaussian_process.load()
    params = LOG_PARAMS["one per feature"]
    signal, noise, *scales = np.exp(params)
    kernel = ConstantKernel(signal) * RBF(scales) + WhiteKernel(noise)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(x, y)
    _, expected = theirs.log_marginal_likelihood(theirs.kernel_.theta, eval_gradient=True)
    ours = tn.grad(lambda p: gaussian_process.log_marginal_likelihood(p, tn.asarray(x), tn.asarray(y)))
    actual = np.asarray(ours(tn.asarray(params)))
    np.testing.assert_allclose(actual[[0, *range(2, 12), 1]], expected, rtol=1e-7, atol=1e-9)


def test_the_fit_improves_the_likelihood(gaussian_process):
    x, y, _ = gaussian_process.load()
    start = np.array([0.0, -0.7, 1.0])
    before = float(gaussian_process.log_marginal_likelihood(*map(tn.asarray, (start, x, y))))
    found = gaussian_process.fit(x, y, start, iterations=15)
    assert -found.fun > before + 1.0


def test_gaussian_process_runs_and_draws(gaussian_process, tmp_path, capsys):
    figure = tmp_path / "figure.png"
    gaussian_process.main(["--iterations", "3", "--out", str(figure)])
    assert "log marginal likelihood" in capsys.readouterr().out
    assert figure.stat().st_size > 1000


@pytest.mark.parametrize("beta", [0.3, 0.6])
def test_ising_energies_approach_onsagers(ising, beta):
    """Truncation errors of bond dimension 8, away from the critical point."""
    log_z, energy = ising.log_z_and_energy(beta, bond=8, steps=16)
    exact_log_z, exact_energy = ising.onsager(beta)
    assert log_z == pytest.approx(exact_log_z, abs=1.5e-5)
    assert energy == pytest.approx(exact_energy, abs=2e-4)


def test_ising_energy_is_the_derivative_of_its_own_log_z(ising):
    """At 0.6 the spectra are degenerate in most steps. Central differences are good to about 1e-9."""
    step = 1e-5
    energy = ising.log_z_and_energy(0.6, bond=8, steps=12)[1]
    upper, lower = (ising.log_z_and_energy(0.6 + h, bond=8, steps=12)[0] for h in (step, -step))
    assert energy == pytest.approx(-(upper - lower) / (2 * step), abs=1e-7)


def test_ising_exact_energy_is_the_derivative_of_onsagers_log_z(ising):
    step = 1e-5
    slope = (ising.onsager(0.5 + step)[0] - ising.onsager(0.5 - step)[0]) / (2 * step)
    assert ising.onsager(0.5)[1] == pytest.approx(-slope, abs=1e-9)


def test_ising_runs_and_draws(ising, tmp_path, capsys):
    figure = tmp_path / "figure.png"
    ising.main(["--bond", "4", "--steps", "6", "--out", str(figure)])
    assert "energy" in capsys.readouterr().out
    assert figure.stat().st_size > 1000


def test_the_survey_times_the_formula_of_the_gaussian_process(gaussian_process):
    x, y, _ = gaussian_process.load()
    params = tn.asarray(LOG_PARAMS["one per feature"])
    shown = gaussian_process.log_marginal_likelihood(params, tn.asarray(x), tn.asarray(y))
    eye = tn.asarray(np.eye(len(y)))
    timed = formulas.gp_log_marginal(formulas.taenite_ops(tn), params, tn.asarray(x), tn.asarray(y), eye)
    assert float(timed) == pytest.approx(float(shown), rel=1e-13)


def test_the_survey_times_the_formula_of_the_ising_model(ising):
    cuts = formulas.ising_cuts(np, 0.5, 8, 6)
    plaquette = tn.asarray(np.array(formulas.ising_plaquette()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.errors.DegenerateSpectrumWarning)
        timed, slope = tn.value_and_grad(
            lambda beta: formulas.ising_log_z(formulas.taenite_ops(tn), beta, plaquette, cuts)
        )(tn.asarray(0.5))
    log_z, energy = ising.log_z_and_energy(0.5, bond=8, steps=6)
    assert (float(timed), -float(slope)) == (
        pytest.approx(log_z, rel=1e-13),
        pytest.approx(energy, rel=1e-11),
    )
