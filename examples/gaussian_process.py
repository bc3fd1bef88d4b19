"""Fit a Gaussian process to the diabetes data of scikit-learn by its marginal likelihood.

The kernel is `s * exp(-|x - y|^2 / 2)` on inputs divided by one length scale per feature, plus noise. The
likelihood goes through a Cholesky factor of the 442 x 442 kernel matrix, a triangular solve and a
log-determinant, and taenite differentiates all of it for L-BFGS.

    python examples/gaussian_process.py --out gaussian_process.png
"""

import argparse
import math

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize
from sklearn.datasets import load_diabetes

import taenite as tn

BOUNDS = (-6.0, 8.0)  # of every log-parameter: a feature of length scale exp(8) does not matter


def load():
    """Features and target, each with mean 0 and standard deviation 1, and the names of the features."""
    data = load_diabetes()
    return standardised(data.data), standardised(data.target), data.feature_names


def standardised(a):
    return (a - a.mean(0)) / a.std(0)


def kernel(log_params, a, b):
    """Covariance without noise; `log_params` = log(signal variance, noise variance, length scales...)."""
    a, b = a / tn.exp(log_params[2:]), b / tn.exp(log_params[2:])
    distance2 = tn.sum(a * a, axis=1)[:, None] + tn.sum(b * b, axis=1)[None, :] - 2 * (a @ b.T)
    return tn.exp(log_params[0] - distance2 / 2)


def covariance(log_params, x):
    return kernel(log_params, x, x) + tn.exp(log_params[1]) * tn.eye(x.shape[0])


def log_marginal_likelihood(log_params, x, y):
    """Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm 2.1."""
    factor = tn.linalg.cholesky(covariance(log_params, x))
    white = tn.linalg.solve_triangular(factor, y, upper=False)
    half_log_det = tn.sum(tn.log(tn.linalg.diagonal(factor)))
    return -tn.sum(white * white) / 2 - half_log_det - y.shape[0] / 2 * math.log(2 * math.pi)


def fit(x, y, start, iterations=100):
    """The parameters of the largest likelihood near `start`, by L-BFGS."""
    x, y = tn.asarray(x), tn.asarray(y)
    value_and_grad = tn.value_and_grad(lambda log_params: -log_marginal_likelihood(log_params, x, y))

    def objective(log_params):
        value, gradient = value_and_grad(tn.asarray(log_params))
        return float(value), np.asarray(gradient)

    bounds, options = [BOUNDS] * len(start), {"maxiter": iterations}
    return minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)


def predict(log_params, x, y, points):
    """Mean of the process at `points` given the data."""
    log_params, x, y, points = map(tn.asarray, (log_params, x, y, points))
    weights = tn.linalg.solve(covariance(log_params, x), y)
    return np.asarray(kernel(log_params, points, x) @ weights)


def draw(names, log_params, target, fitted, path):
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.barh(names, np.exp(-log_params[2:]))
    left.set(xlabel="relevance: 1 / length scale", title="What the likelihood finds relevant")
    right.plot(target, fitted, ".", markersize=4)
    right.axline((0, 0), slope=1, color="grey", linewidth=1)
    right.set(xlabel="disease progression (standardised)", ylabel="posterior mean", title="Fit")
    figure.savefig(path, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="gaussian_process.png", help="file of the figure")
    parser.add_argument("--iterations", type=int, default=100, help="most iterations of L-BFGS")
    options = parser.parse_args(arguments)

    x, y, names = load()
    start = np.concatenate([[0.0, -0.7], np.full(x.shape[1], 1.0)])
    found = fit(x, y, start, options.iterations)
    signal, noise, *scales = np.exp(found.x)
    print(f"log marginal likelihood {-found.fun:.6f} after {found.nit} iterations, {found.nfev} evaluations")
    print(f"signal variance {signal:.4g}, noise variance {noise:.4g}")
    for name, scale in sorted(zip(names, scales, strict=True), key=lambda pair: pair[1]):
        print(f"  {name:>4}: length scale {scale:.4g}")
    draw(names, found.x, y, predict(found.x, x, y, x), options.out)
    print(f"figure: {options.out}")


if __name__ == "__main__":
    main()
