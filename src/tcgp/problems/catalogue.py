"""Names of the test problems, with the domain and the solution of each.

Solutions without a closed form were polished by Newton's method in 40 digits; the tests repeat this.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy  # scipy.optimize, slow to import, is loaded when it is first used

from tcgp._text import plain
from tcgp._typing import FloatArray
from tcgp.problems import formulas
from tcgp.problems.problem import Problem

__all__ = ["get", "names"]


def get(name: str) -> Problem:
    """Return the test problem of that name.

    Parameters
    ----------
    name : str
        One of :func:`names`, or a family with its dimension: ``"ackley10"``, ``"rosenbrock15"``,
        ``"michalewicz2"``. (In ``"shekel10"`` the number counts wells; Shekel has four variables.)

    Returns
    -------
    Problem
        With `fun`, `bounds`, `dim`, `minimum` and `minimizer`, and callable itself.

    Examples
    --------
    >>> from tcgp import problems
    >>> ackley = problems.get("ackley10")
    >>> ackley.dim, ackley.minimum
    (10, 0.0)
    >>> problems.get("goldstein-price")([0.0, -1.0])
    3.0
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be one of tcgp.problems.names(), got {plain(name)}")
    if name in _SINGLE:
        return _SINGLE[name](name)
    family, dimension = _split(name)
    if family not in _FAMILIES:
        raise ValueError(
            f"name must be one of {', '.join(sorted(_SINGLE))}, or a family with its dimension d: "
            f"{', '.join(f'{f}<d>' for f in sorted(_FAMILIES))}; got {plain(name)}"
        )
    build, lowest = _FAMILIES[family]
    if dimension < lowest:
        raise ValueError(
            f"name must have a dimension of at least {lowest}, such as {family}4, got {plain(name)}"
        )
    return build(name, dimension)


def names() -> tuple[str, ...]:
    """Names that :func:`get` accepts, those of the paper's experiments first.

    A family appears with the dimensions of the paper's experiments, or with a common one; others work too.

    Examples
    --------
    >>> from tcgp import problems
    >>> problems.names()[:3]
    ('goldstein-price', 'rosenbrock6', 'rosenbrock10')
    """
    return (
        *("goldstein-price", "rosenbrock6", "rosenbrock10", "rosenbrock15", "ackley4", "ackley10"),
        *("dixon-price4", "dixon-price10", "dixon-price20", "hartmann3", "hartmann6", "michalewicz4"),
        *("cross-in-tray", "shekel5", "shekel7", "shekel10", "perm6", "forrester"),
        *("branin", "six-hump-camel", "levy4", "griewank4", "styblinski-tang4", "schwefel4", "rastrigin4"),
    )


def _split(name: str) -> tuple[str, int]:
    """Family and dimension; dimension 0 when the name has no number."""
    match = re.fullmatch(r"(.*?[^0-9])(0|[1-9][0-9]*)?", name)
    return (match[1], int(match[2] or 0)) if match else (name, 0)


def _box(low: float, high: float, d: int) -> FloatArray:
    """The cube [low, high]^d."""
    return np.tile([float(low), float(high)], (d, 1))


def _goldstein_price(name: str) -> Problem:
    return Problem(name, formulas.goldstein_price, _box(-2, 2, 2), 3.0, np.array([0.0, -1.0]))


def _hartmann3(name: str) -> Problem:
    minimizer = np.array([0.11458887665506896836, 0.55564889461693004477, 0.85254698468667743762])
    return Problem(name, formulas.hartmann3, _box(0, 1, 3), -3.862779787332662522767, minimizer)


def _hartmann6(name: str) -> Problem:
    minimizer = np.array(
        [
            *(0.20168951100670542433, 0.15001069182345796879, 0.47687397422189699032),
            *(0.27533243049405606824, 0.31165161660011324245, 0.65730053406562030606),
        ]
    )
    return Problem(name, formulas.hartmann6, _box(0, 1, 6), -3.322368011415514800084, minimizer)


def _cross_in_tray(name: str) -> Problem:
    minimizer = np.full(2, 1.3494066171539107918)
    return Problem(name, formulas.cross_in_tray, _box(-10, 10, 2), -2.062611870822736877795, minimizer)


def _shekel(name: str, *, m: int, minimum: float, odd: float, even: float) -> Problem:
    minimizer = np.array([odd, even, odd, even])  # rows 1 and 3 of C are equal, and rows 2 and 4
    return Problem(name, partial(formulas.shekel, m=m), _box(0, 10, 4), minimum, minimizer)


def _forrester(name: str) -> Problem:
    minimizer = np.array([0.75724875784185587005])
    return Problem(name, formulas.forrester, _box(0, 1, 1), -6.020740055767082786554, minimizer)


def _branin(name: str) -> Problem:
    bounds = np.array([[-5.0, 10.0], [0.0, 15.0]])
    return Problem(name, formulas.branin, bounds, 5 / (4 * np.pi), np.array([np.pi, 2.275]))


def _six_hump_camel(name: str) -> Problem:
    bounds = np.array([[-3.0, 3.0], [-2.0, 2.0]])
    minimizer = np.array([0.089842013100318062422, -0.7126564030207396334])
    return Problem(name, formulas.six_hump_camel, bounds, -1.031628453489877350416, minimizer)


def _rosenbrock(name: str, d: int) -> Problem:
    return Problem(name, formulas.rosenbrock, _box(-5, 10, d), 0.0, np.ones(d))


def _ackley(name: str, d: int) -> Problem:
    return Problem(name, formulas.ackley, _box(-32.768, 32.768, d), 0.0, np.zeros(d))


def _dixon_price(name: str, d: int) -> Problem:
    minimizer = 2.0 ** (2.0 ** (1 - np.arange(1.0, d + 1)) - 1)  # x_1 = 1, 2 x_i^2 = x_(i-1)
    return Problem(name, formulas.dixon_price, _box(-10, 10, d), 0.0, minimizer)


def _michalewicz(name: str, d: int) -> Problem:
    minimizer = np.array([_michalewicz_coordinate(i) for i in range(1, d + 1)])
    return Problem(
        name, formulas.michalewicz, _box(0, np.pi, d), float(formulas.michalewicz(minimizer)), minimizer
    )


def _michalewicz_coordinate(i: int) -> float:
    """Maximizer on [0, pi] of sin(x) sin(i x^2/pi)^20, the i-th term of the sum."""

    # On each lobe k pi < i x^2/pi < (k+1) pi the logarithmic derivative falls strictly from +inf to -inf,
    # so a lobe has one maximum; sin(x) is largest at pi/2, in lobe i/4, so the best lobe is next to that.
    def log_derivative(x: float) -> float:
        u = i * x**2 / np.pi
        return float(1 / np.tan(x) + 40 * i * x / (np.pi * np.tan(u)))

    def term(x: float) -> float:
        return float(np.sin(x) * np.sin(i * x**2 / np.pi) ** 20)

    maximizers = []
    for k in range(max(0, i // 4 - 1), min(i, i // 4 + 2)):
        low, high = np.pi * np.sqrt((k + np.array([1e-3, 1 - 1e-3])) / i)
        maximizers.append(float(scipy.optimize.brentq(log_derivative, low, high, xtol=1e-15, rtol=1e-15)))
    return max(maximizers, key=term)


def _perm(name: str, d: int) -> Problem:
    return Problem(name, formulas.perm, _box(-d, d, d), 0.0, 1 / np.arange(1.0, d + 1))


def _levy(name: str, d: int) -> Problem:
    return Problem(name, formulas.levy, _box(-10, 10, d), 0.0, np.ones(d))


def _griewank(name: str, d: int) -> Problem:
    return Problem(name, formulas.griewank, _box(-600, 600, d), 0.0, np.zeros(d))


def _styblinski_tang(name: str, d: int) -> Problem:
    minimizer = np.full(d, -2.9035340277711770951)
    return Problem(name, formulas.styblinski_tang, _box(-5, 5, d), -39.16616570377141546389 * d, minimizer)


def _schwefel(name: str, d: int) -> Problem:
    return Problem(name, formulas.schwefel, _box(-500, 500, d), 0.0, np.full(d, 420.96874635998202731))


def _rastrigin(name: str, d: int) -> Problem:
    return Problem(name, formulas.rastrigin, _box(-5.12, 5.12, d), 0.0, np.zeros(d))


_SINGLE: dict[str, Callable[[str], Problem]] = {
    "goldstein-price": _goldstein_price,
    "hartmann3": _hartmann3,
    "hartmann6": _hartmann6,
    "cross-in-tray": _cross_in_tray,
    "shekel5": partial(
        _shekel, m=5, minimum=-10.15319967905822745736, odd=4.0000371528196762307, even=4.00013327659156009
    ),
    "shekel7": partial(
        _shekel, m=7, minimum=-10.40291533677774347489, odd=4.0005728192511171566, even=3.9996062096096889107
    ),
    "shekel10": partial(
        _shekel, m=10, minimum=-10.53644315348352786916, odd=4.0007468682706343883, even=3.9995094800857735584
    ),
    "forrester": _forrester,
    "branin": _branin,
    "six-hump-camel": _six_hump_camel,
}
_FAMILIES: dict[str, tuple[Callable[[str, int], Problem], int]] = {  # builder, lowest dimension
    "rosenbrock": (_rosenbrock, 2),
    "ackley": (_ackley, 1),
    "dixon-price": (_dixon_price, 1),
    "michalewicz": (_michalewicz, 1),
    "perm": (_perm, 1),
    "levy": (_levy, 1),
    "griewank": (_griewank, 1),
    "styblinski-tang": (_styblinski_tang, 1),
    "schwefel": (_schwefel, 1),
    "rastrigin": (_rastrigin, 1),
}
