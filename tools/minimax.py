"""Print the minimax polynomials of native/kernels/simd (Remez exchange in mpmath).

Each entry of TABLE is a function g, its interval, a weight and a degree: the polynomial p minimises the
largest weight(x) * |p(x) - g(x)|, and the weight makes that the relative error of the finished function. Run
`python tools/minimax.py [name ...]`; paste the output where the name is used.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath
from mpmath import mpf

mpmath.mp.dps = 100
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


def tail(f: Function, leading: list[mpf], order: int) -> Function:
    """(f(x) - leading polynomial) / x^order, by cancellation in 100 digits."""

    def value(x: mpf) -> mpf:
        x = x if abs(x) > TINY else TINY
        return (f(x) - mpmath.polyval(leading[::-1], x)) / x**order

    return value


def in_square(g: Function) -> Function:
    """An even function of x as a function of z = x^2."""
    return lambda z: g(mpmath.sqrt(z))


LN2 = mpmath.log(2)
ZERO, ONE, HALF = mpf(0), mpf(1), mpf(1) / 2
ERFC_CENTRE = mpf(4)
TINY = mpf(2) ** -70
TANH_HIGH = mpf("0.2575")
S_LOG = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)


def log_ratio(s: mpf) -> mpf:
    return mpmath.log((1 + s) / (1 - s))


def linear(z: mpf) -> mpf:
    return z + mpf(2) ** -8


def square(x: mpf) -> mpf:
    return x * x + mpf(2) ** -12


def odd(f: Function, high: mpf, degree: int, slope: mpf = ONE, bits: int = 53) -> Problem:
    """(f(x) - slope x) / x^3 in x^2, for odd f on [0, high]."""
    return Problem(in_square(tail(f, [ZERO, slope], 3)), TINY, high**2, degree, linear, bits)


def scaled_erfc(t: mpf) -> mpf:
    """(1 + 2 a) e^(a^2) erfc(a) with a = ERFC_CENTRE (1 + t) / (1 - t)."""
    a = ERFC_CENTRE * (1 + t) / (1 - t)
    return (1 + 2 * a) * mpmath.exp(a * a) * mpmath.erfc(a)


def erfc_variable(a: mpf) -> mpf:
    return (a - ERFC_CENTRE) / (a + ERFC_CENTRE)


def constant(x: mpf) -> mpf:
    return ONE


def problems() -> dict[str, Problem]:
    half_ln2, quarter_pi = LN2 / 2 * mpf("1.001"), mpmath.pi / 4 * mpf("1.001")
    cos_tail = in_square(tail(mpmath.cos, [ONE, ZERO, -HALF], 4))
    log_tail = in_square(tail(log_ratio, [ZERO, mpf(2), ZERO, mpf(2) / 3], 5))
    half_cubic = tail(mpmath.exp, [ONE, ONE, HALF], 3)
    log_cubic = tail(lambda f: mpmath.log(1 + f), [ZERO, ONE, -HALF], 3)
    log_low, log_high = mpmath.sqrt(HALF) - 1, mpmath.sqrt(2) - 1

    def expm1_tail(x: mpf) -> mpf:
        return 2 * half_cubic(x)

    return {
        "exp": Problem(tail(mpmath.exp, [ONE, ONE], 2), -half_ln2, half_ln2, 9, square),
        "expm1": Problem(expm1_tail, -half_ln2, half_ln2, 9, square),
        "log": odd(log_ratio, S_LOG, 6, mpf(2)),
        "log_pair": Problem(log_tail, TINY, S_LOG**2 * mpf("1.001"), 6, square),
        "sin": odd(mpmath.sin, quarter_pi, 5),
        "cos": Problem(cos_tail, TINY, quarter_pi**2, 5, square),
        "tanh": odd(mpmath.tanh, TANH_HIGH, 6),
        "atan": odd(mpmath.atan, mpmath.tan(mpmath.pi / 8) * mpf("1.001"), 10),
        "erf": Problem(in_square(tail(mpmath.erf, [ZERO, ONE], 1)), TINY, mpf("1.002"), 11, constant),
        "erfc": Problem(scaled_erfc, erfc_variable(mpf("0.49")), erfc_variable(mpf(28)), 22, constant),
        "single exp": Problem(tail(mpmath.exp, [ONE, ONE], 2), -half_ln2, half_ln2, 5, square),
        "single log": odd(log_ratio, S_LOG, 3, mpf(2)),
        "single sin": odd(mpmath.sin, quarter_pi, 3),
        "single cos": Problem(cos_tail, TINY, quarter_pi**2, 2, square),
        "narrow exp": Problem(tail(mpmath.exp, [ONE, ONE], 2), -half_ln2, half_ln2, 4, square, 24),
        "narrow log": Problem(log_cubic, log_low, log_high, 7, square, 24),
        "narrow tanh": odd(mpmath.tanh, TANH_HIGH, 2, bits=24),
        "asin": odd(mpmath.asin, HALF * mpf("1.001"), 12),
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
