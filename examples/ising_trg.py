"""Free energy and internal energy of the two-dimensional Ising model by tensor renormalisation.

ln Z of 2^(steps + 1) spins is one tensor network. Every step cuts each tensor in two by a truncated SVD and
joins four halves to a new tensor, which halves their number (Levin and Nave, Phys. Rev. Lett. 99, 120601,
2007). The internal energy is its derivative by the inverse temperature, taken through all steps, and both
are compared with Onsager's solution.

    python examples/ising_trg.py --bond 16 --out ising_trg.png
"""

import argparse
import warnings

import numpy as np
from matplotlib.figure import Figure

import taenite as tn

CRITICAL = np.log(1 + np.sqrt(2)) / 2


def plaquette_tensor(beta):
    """Weight of four spins around a plaquette; the plaquettes of one colour carry every bond exactly once."""
    spin = np.array([1.0, -1.0])
    a, b, c, d = np.meshgrid(spin, spin, spin, spin, indexing="ij")
    return tn.exp(beta * tn.asarray(a * b + b * c + c * d + d * a))


def kept_rank(s, bond):
    """Largest rank <= `bond` that keeps no rounding noise and divides no group of equal singular values."""
    meaningful = int((s > 1e-10 * s[0]).sum())
    rank = min(bond, meaningful)
    while 1 < rank < meaningful and s[rank - 1] - s[rank] <= 1e-8 * s[rank - 1]:
        rank -= 1
    return rank


def split(tensor, bond):
    """The halves `u[i, j, k] sqrt(s[k])` and `sqrt(s[k]) vh[k, l, m]` of a tensor of four axes."""
    i, j, l, m = tensor.shape
    u, s, vh = tn.linalg.svd(tn.reshape(tensor, (i * j, l * m)), full_matrices=False)
    k = kept_rank(np.asarray(s.detach()), bond)
    root = tn.sqrt(s[:k])
    return tn.reshape(u[:, :k] * root, (i, j, k)), tn.reshape(root[:, None] * vh[:k], (k, l, m))


def renormalise(tensor, bond):
    """Cut every tensor (up, left, down, right) in two, and join the four halves around each square."""
    bottom_right, top_left = split(tensor, bond)
    bottom_left, top_right = split(tn.permute_dims(tensor, (0, 3, 2, 1)), bond)
    return tn.einsum("awx,byx,yzc,wze->aecb", top_left, top_right, bottom_right, bottom_left)


def log_z_per_spin(beta, bond, steps):
    tensor, log_z, spins = plaquette_tensor(beta), 0.0, 2
    for _ in range(steps):
        scale = tn.max(tn.abs(tensor))
        log_z = log_z + tn.log(scale) / spins
        tensor, spins = renormalise(tensor / scale, bond), 2 * spins
    return log_z + tn.log(tn.einsum("ulul->", tensor)) / spins


def log_z_and_energy(beta, bond, steps):
    """ln Z per spin, and the energy per spin -d ln Z / d beta.

    The symmetries of the model make singular values equal, where the derivative of single vectors is
    undefined, and taenite warns that it dropped those terms. Here they vanish: whole groups of equal values
    are kept, and a change of temperature breaks no symmetry, so it shifts all values of a group alike and
    mixes none of its vectors.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tn.errors.DegenerateSpectrumWarning)
        log_z, slope = tn.value_and_grad(lambda b: log_z_per_spin(b, bond, steps))(tn.asarray(beta))
    return float(log_z), -float(slope)


def onsager(beta, points=20001):
    """ln Z and energy per spin of the infinite lattice (Onsager, 1944), by the midpoint rule.

    ln Z = ln 2 / 2 + 1 / (2 pi) * integral over 0..pi of ln(c^2 + sqrt(s^4 + 1 - 2 s^2 cos 2t)), with
    c = cosh 2 beta and s = sinh 2 beta; the energy is minus its derivative, under the integral.
    """
    t = (np.arange(points) + 0.5) * np.pi / points
    c, s = np.cosh(2 * beta), np.sinh(2 * beta)
    root = np.sqrt(s**4 + 1 - 2 * s**2 * np.cos(2 * t))
    d_root = 4 * s * c * (s**2 - np.cos(2 * t)) / root
    inside = c**2 + root
    return np.log(2) / 2 + np.log(inside).mean() / 2, -((4 * s * c + d_root) / inside).mean() / 2


def draw(betas, energies, path):
    fine = np.linspace(min(betas), max(betas), 200)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    axes.plot(fine, [onsager(beta)[1] for beta in fine], label="Onsager")
    axes.plot(betas, energies, "o", label="derivative of the renormalised ln Z")
    axes.axvline(CRITICAL, color="grey", linewidth=1)
    axes.set(xlabel="inverse temperature", ylabel="energy per spin", title="Two-dimensional Ising model")
    axes.legend()
    figure.savefig(path, dpi=120)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="ising_trg.png", help="file of the figure")
    parser.add_argument("--bond", type=int, default=16, help="largest bond dimension")
    parser.add_argument("--steps", type=int, default=20, help="renormalisation steps")
    options = parser.parse_args(arguments)

    betas, energies = np.linspace(0.2, 0.7, 11), []
    print(f"{'beta':>6} {'ln Z / N':>12} {'error':>9} {'energy / N':>12} {'error':>9}")
    for beta in betas:
        log_z, energy = log_z_and_energy(beta, options.bond, options.steps)
        exact_log_z, exact_energy = onsager(beta)
        energies.append(energy)
        errors = f"{log_z - exact_log_z:9.1e}", f"{energy - exact_energy:9.1e}"
        print(f"{beta:6.3f} {log_z:12.8f} {errors[0]} {energy:12.8f} {errors[1]}")
    draw(betas, energies, options.out)
    print(f"figure: {options.out}")


if __name__ == "__main__":
    main()
