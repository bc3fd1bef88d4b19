"""Print the minimax polynomials of native/kernels/simd (Remez exchange in mpmath).

Each entry of TABLE is a function g, its interval, a weight and a degree: the polynomial p minimises the largest
weight(x) * |p(x) - g(x)|, and the weight makes that the relative error of the finished function. Run
`python tools/minimax.py [name ...]`; paste the output where the name is used.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mpf

mpmath.mp.dps = 60
Function = Callable[[mpf], mpf]


@dataclass(frozen=True)
class Problem:
    function: Function
    low: mpf
    high: mpf
    degree: int
    weight: Function
    bits: int = 53


def remez(p: Problem) -> tuple[list[mpf], mpf]:
    """Coefficients and the weighted error, by exchanging all extrema until the error is level."""
    n = p.degree + 2
    middle, radius = (p.low + p.high) / 2, (p.high - p.low) / 2
    points = [middle - radius * mpmath.cos(mpmath.pi * k / (n - 1)) for k in range(n)]
    for _ in range(20):
        coefficients, level = solve_level(p, points)
        points, worst = extrema(p, coefficients, n)
        if worst - abs(level) < worst * mpf("1e-3"):
            break
    return coefficients, worst


def solve_level(p: Problem, points: list[mpf]) -> tuple[list[mpf], mpf]:
    """The polynomial whose weighted error is +E, -E, ... at the points."""
    n = len(points)
    matrix, rhs = mpmath.matrix(n, n), mpmath.matrix(n, 1)
    for i, x in enumerate(points):
        for j in range(n - 1):
            matrix[i, j] = x**j
        matrix[i, n - 1] = (-1) ** i / p.weight(x)
        rhs[i] = p.function(x)
    solution = mpmath.lu_solve(matrix, rhs)
    return [solution[j] for j in range(n - 1)], solution[n - 1]


def extrema(p: Problem, coefficients: list[mpf], n: int) -> tuple[list[mpf], mpf]:
    """The n alternating extrema of the weighted error, found on a fine Chebyshev grid."""
    size = 40 * n
    middle, radius = (p.low + p.high) / 2, (p.high - p.low) / 2
    grid = [middle - radius * mpmath.cos(mpmath.pi * k / size) for k in range(size + 1)]
    error = [p.weight(x) * (mpmath.polyval(coefficients[::-1], x) - p.function(x)) for x in grid]
    found: list[int] = []
    for i in range(size + 1):
        if found and (error[i] > 0) == (error[found[-1]] > 0):
            if abs(error[i]) > abs(error[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > n:
        found.pop(0 if abs(error[found[0]]) < abs(error[found[-1]]) else -1)
    return [grid[i] for i in found], max(abs(e) for e in error)


def rounded(c: mpf, bits: int) -> str:
    return float(c).hex() if bits == 53 else struct.unpack("f", struct.pack("f", float(c)))[0].hex() + "f"


def series(f: Function, order: int, terms: int = 24) -> Callable[[mpf], mpf]:
    """f(x) with its first `order` Taylor terms removed, over x^order; by Taylor series, so exact near zero."""
    taylor = mpmath.taylor(f, 0, order + terms + 24)[order:]
    return lambda x: mpmath.polyval(taylor[::-1], x)


def even_part(f: Function, order: int) -> Function:
    """As `series` for odd or even f, as a function of z = x^2."""
    taylor = mpmath.taylor(f, 0, order + 100)[order::2]
    return lambda z: mpmath.polyval(taylor[::-1], z)


LN2 = mpmath.log(2)
E = mpf(2) ** -60
S_LOG = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)


def log_tail(z: mpf) -> mpf:
    """(log((1+s)/(1-s)) - 2s) / s^3 with z = s^2."""
    s = mpmath.sqrt(z)
    return (mpmath.log((1 + s) / (1 - s)) - 2 * s) / s**3


def problems() -> dict[str, Problem]:
    half_ln2, quarter_pi = LN2 / 2 * mpf("1.001"), mpmath.pi / 4 * mpf("1.001")
    exp_tail = series(mpmath.exp, 2)
    sin_tail, cos_tail = even_part(mpmath.sin, 3), even_part(mpmath.cos, 4)
    linear: Function = lambda z: z + mpf(2) ** -8
    square: Function = lambda x: x * x + mpf(2) ** -12
    return {
        "exp": Problem(exp_tail, -half_ln2, half_ln2, 9, square),
        "log": Problem(log_tail, E, S_LOG**2, 6, linear),
        "sin": Problem(sin_tail, E, quarter_pi**2, 5, linear),
        "cos": Problem(cos_tail, E, quarter_pi**2, 5, square),
    }


def main(names: list[str]) -> None:
    for name, problem in problems().items():
        if names and name not in names:
            continue
        coefficients, error = remez(problem)
        print(f"// {name}: degree {problem.degree}, error 2^{float(mpmath.log(error, 2)):.1f}")
        print(", ".join(rounded(c, problem.bits) for c in coefficients))


if __name__ == "__main__":
    main(sys.argv[1:])
