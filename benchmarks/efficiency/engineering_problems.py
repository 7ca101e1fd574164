"""Engineering problems whose outputs have limits, as people state them: ``stress <= 13600``, not a difference <= 0.

``TUNING`` and ``VALIDATION`` were written down before any run; none of the latter had been used here before. The G
problems are pymoo's, and `chartmann` is BoTorch's; the others are from the literature on design optimization. Outputs
keep their units. The problems of SMT have no limits.
"""

from __future__ import annotations

import functools
import math
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from constrained_problems import Problem, beam, spring, vessel
from tcgp.programs.decks import Deck

__all__ = ["DESIGNS", "REAL", "TUNING", "VALIDATION", "design"]

Values = tuple[float, ...]


def design_beam(x: np.ndarray) -> Values:
    """The welded beam: stresses and deflection below, buckling load above a bound; the weld no thicker than the bar."""
    f, stress, bending, weld, deflection, buckling = beam(x)
    return f, stress + 13600.0, bending + 30000.0, weld, deflection + 0.25, 6000.0 - buckling


def design_spring(x: np.ndarray) -> Values:
    """The spring: each limit is a ratio, at most 1."""
    f, *limits = spring(x)
    return f, *(limit + 1.0 for limit in limits)


def design_vessel(x: np.ndarray) -> Values:
    """The pressure vessel: two thicknesses, and a volume that is at least 1,296,000."""
    f, shell, head, volume = vessel(x)
    return f, shell, head, 1296000.0 - volume


def cantilever(x: np.ndarray) -> Values:
    """pymoo's cantilevered beam: volume; stress and deflection."""
    width, flange, web, height = x
    inner = height - 2.0 * flange
    inertia = web * inner**3 / 12.0 + width * flange**3 / 6.0 + width * flange * (height - flange) ** 2 / 2.0
    load, length, young = 1000.0, 36.0, 1e7
    stress, deflection = load * length * height / (2.0 * inertia), load * length**3 / (3.0 * young * inertia)
    return (2.0 * flange * width + inner * web) * length, stress, deflection


def pymoo_g(number: int) -> Callable[[np.ndarray], Values]:
    """One of the G problems of CEC 2006."""

    def fun(x: np.ndarray) -> Values:
        found = _pymoo(number).evaluate(np.asarray(x, dtype=float), return_as_dictionary=True)
        return float(found["F"][0]), *map(float, found["G"])

    return fun


@functools.cache
def _pymoo(number: int):
    import pymoo.problems.single.g as problems

    return getattr(problems, f"G{number}")()


def chartmann(x: np.ndarray) -> Values:
    """Hartmann's function in d = 6 within a ball."""
    alpha = np.array([1.0, 1.2, 3.0, 3.2])
    A = np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    )
    P = 1e-4 * np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    return -float(alpha @ np.exp(-np.sum(A * (x - P) ** 2, axis=1))), float(x @ x)


# ---- for validation ----


def column(x: np.ndarray) -> Values:
    """Cost of a tubular column: stress, and load as a share of the one that buckles it."""
    d, t = x
    load, length, young = 2500.0, 250.0, 0.85e6
    buckling = math.pi**3 * young * d * t * (d**2 + t**2) / (8.0 * length**2)
    return 9.8 * d * t + 2.0 * d, load / (math.pi * d * t), load / buckling


def stepped_cantilever(x: np.ndarray) -> Values:
    """Weight of a cantilever of five hollow blocks; deflection."""
    return 0.0624 * float(x.sum()), float(np.array([61.0, 37.0, 19.0, 7.0, 1.0]) @ x**-3.0)


def i_beam(x: np.ndarray) -> Values:
    """Deflection of an I-beam; area and stress."""
    b, h, web, flange = x
    inner = h - 2.0 * flange
    inertia = web * inner**3 / 12.0 + b * flange**3 / 6.0 + 2.0 * b * flange * ((h - flange) / 2.0) ** 2
    stress = 18e4 * h / (web * inner**3 + 2.0 * b * flange * (4.0 * flange**2 + 3.0 * h * inner))
    stress += 15e3 * b / (inner * web**3 + 2.0 * flange * b**3)
    return 5000.0 / inertia, 2.0 * b * flange + web * inner, stress


def bulkhead(x: np.ndarray) -> Values:
    """Weight of a corrugated bulkhead of a tanker: section modulus, inertia, thicknesses."""
    width, depth, length, thick = x
    span = width + math.sqrt(abs(length**2 - depth**2))
    return (
        5.885 * thick * (width + length) / span,
        thick * depth * (0.4 * width + length / 6.0) / (8.94 * span),
        thick * depth**2 * (0.2 * width + length / 12.0) / (2.2 * (8.94 * span) ** (4.0 / 3.0)),
        thick - 0.0156 * width,
        thick - 0.0156 * length,
        length - depth,
    )


def gas_pipeline(x: np.ndarray) -> Values:
    """Cost of a gas pipeline: distance and ratio of compressors, diameter, ratio of pressures."""
    a, b, c, d = x
    f = 8.61e5 * math.sqrt(a) * b * c ** (-2.0 / 3.0) / math.sqrt(d) + 3.69e4 * c
    f += 7.72e8 / a * b**0.219 - 765.43e6 / a
    return f, (d + 1.0) / b**2


def side_impact(x: np.ndarray) -> Values:
    """Weight of a car: abdomen load, viscous criteria, rib deflections, pubic force, velocities."""
    a, b, c, d, e, f, g = x
    return (
        1.98 + 4.9 * a + 6.67 * b + 6.98 * c + 4.01 * d + 1.78 * e + 0.00001 * f + 2.73 * g,
        1.16 - 0.3717 * b * d - 0.0092928 * c,
        0.261 - 0.0159 * a * b - 0.06486 * a - 0.019 * b * g + 0.0144 * c * e + 0.0154464 * f,
        0.214
        + 0.00817 * e
        - 0.0587118 * a
        + 0.03099 * b * f
        - 0.018 * b * g
        + 0.030408 * c
        - 0.00364 * e * f
        - 0.018 * b**2,
        0.74 - 0.61 * b - 0.031296 * c - 0.031872 * g + 0.227 * b**2,
        28.98 + 3.818 * c - 4.2 * a * b + 1.27296 * f - 2.68065 * g,
        33.86 + 2.95 * c - 5.057 * a * b - 3.795 * b - 3.4431 * g + 1.45728,
        46.36 - 9.9 * b - 4.4505 * a,
        4.72 - 0.5 * d - 0.19 * b * c,
        10.58 - 0.674 * a * b - 0.67275 * b,
        16.45 - 0.489 * c * g - 0.843 * e * f,
    )


def disc_brake(x: np.ndarray) -> Values:
    """Mass of a disc brake: stopping time, width, pressure, temperature, torque; whole number of surfaces."""
    inner, outer, force, n = x
    square, cube = outer**2 - inner**2, outer**3 - inner**3
    square, cube = max(square, 1.0), max(cube, 1.0)
    return (
        4.9e-5 * square * (n - 1.0),
        9.82e6 * square / (force * n * cube),
        outer - inner,
        force / (math.pi * square),
        2.22e-3 * force * cube / square**2,
        2.66e-2 * force * n * cube / square,
    )


def thrust_bearing(x: np.ndarray) -> Values:
    """Power loss of a hydrostatic thrust bearing: load, pressures, temperature, film, flow; recess as a share."""
    outer, share, viscosity, flow = x
    inner, mu = share * outer, 1e-6 * viscosity
    exponent = (math.log10(math.log10(8.122e6 * mu + 0.8)) - 10.04) / -3.55
    warming = 2.0 * (10.0**exponent - 560.0)
    friction = 9336.0 * flow * 0.0307 * 0.5 * warming
    film = (2.0 * math.pi * 750.0 / 60.0) ** 2 * 2.0 * math.pi * mu / friction * (outer**4 - inner**4) / 4.0
    pressure = 6.0 * mu * flow / (math.pi * film**3) * math.log(outer / inner)
    load = math.pi * pressure / 2.0 * (outer**2 - inner**2) / math.log(outer / inner)
    return (
        (flow * pressure / 0.7 + friction) / 12.0,
        load,
        pressure,
        warming,
        film,
        0.0307 / (386.4 * pressure) * flow / (2.0 * math.pi * outer * film),
        load / (math.pi * (outer**2 - inner**2)),
    )


STEEL = (6.0, 6.16, 6.32, 6.6, 7.0, 7.11, 7.2, 7.8, 7.9, 8.0, 8.4)


def concrete_beam(x: np.ndarray) -> Values:
    """Cost of a beam of reinforced concrete: one of eleven areas of steel, whole width, height."""
    steel, width, height = STEEL[int(x[0])], x[1], x[2]
    return 29.4 * steel + 0.6 * width * height, width / height, steel * width - 7.375 * steel**2 / height


def piston_lever(x: np.ndarray) -> Values:
    """Oil volume of a piston: lever force, bending moment, stroke, geometry."""
    h, b, diameter, span = x
    root, load, length = math.sqrt(0.5), 10000.0, 240.0
    rest = math.hypot(span - b, h)
    lifted = math.hypot(span * root + h, b - span * root)
    arm = abs(-span * (span * root + h) + h * (b - span * root)) / rest
    force = math.pi * 1500.0 * diameter**2 / 4.0
    return (
        0.25 * math.pi * diameter**2 * (lifted - rest),
        arm * force,
        load * (length - span),
        1.2 * (lifted - rest) - rest,
        diameter / 2.0 - b,
    )


# ---- a circuit, which needs ngspice ----

CIRCUIT = Path(__file__).parents[2] / "examples" / "ngspice"
# What stands for an output that is not measured, as the amplifier amplifies nothing: far from its limit.
UNMEASURED = {"power": 1e4, "offset": 1e3, "gain": 0.0, "gbw": 1e3, "margin": 0.0, "slew": 1e-2}


@functools.cache
def _amplifier() -> tuple[dict[str, Any], Deck]:
    """The spec of examples/ngspice, and its netlist."""
    spec = tomllib.loads((CIRCUIT / "opamp.toml").read_text())
    return spec, Deck.parse((CIRCUIT / "opamp.cir.in").read_text(), spec["parameters"])


def amplifier(x: np.ndarray) -> Values:
    """Power of the operational amplifier of examples/ngspice: what has limits there; logarithms of sizes."""
    spec, deck = _amplifier()
    sizes = dict(zip(spec["parameters"], (10.0**x).tolist(), strict=True))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "opamp.cir").write_text(deck.fill(sizes))
        printed = subprocess.run(spec["command"], cwd=folder, capture_output=True, text=True).stdout
    outputs = dict(UNMEASURED)
    for name, output in spec["outputs"].items():
        if found := re.search(output["pattern"], printed, re.MULTILINE):
            outputs[name] = float(found[1])
    W1, W3, W5, W6, W7, L1, L5 = (sizes[name] for name in ("W1", "W3", "W5", "W6", "W7", "L1", "L5"))
    area = 2 * L1 * (W1 + W3) + L1 * W6 + L5 * (W5 + W7)
    return outputs["power"], *(outputs[limit.split()[0]] for limit in spec["constraints"][:-1]), area


def _circuit() -> tuple:
    spec, _ = _amplifier()
    sides = [(math.log10(size["low"]), math.log10(size["high"])) for size in spec["parameters"].values()]
    limits = ["".join(limit.split()[-2:]) for limit in spec["constraints"]]
    return amplifier, _box(*sides), " ".join(limits), 112.69  # uW, also the end of three searches by COBYQA


def _box(*sides: tuple[float, float]) -> np.ndarray:
    return np.array(sides, dtype=float)


def _g(number: int, minimum: float) -> tuple:
    problem = _pymoo(number)
    box = np.column_stack([problem.xl, problem.xu]).astype(float)
    return pymoo_g(number), box, " ".join(["<=0"] * problem.n_ieq_constr), minimum


# Function, box, limits in the order of the outputs, minimum, numbers of the integer parameters. Minima that are not
# published are the lowest that descents from 2000 points found (`find_minimum`, for each choice of the integers).
DESIGNS: dict[str, Callable[[], tuple]] = {
    "design-beam": lambda: (
        design_beam,
        _box((0.125, 10.0), (0.1, 10.0), (0.1, 10.0), (0.1, 10.0)),
        "<=13600 <=30000 <=0 <=0.25 >=6000",
        1.724852309,
    ),
    "design-spring": lambda: (
        design_spring,
        _box((0.05, 0.2), (0.25, 1.3), (2.0, 15.0)),
        "<=1 <=1 <=1 <=1",
        0.012665233,
    ),
    "design-vessel": lambda: (
        design_vessel,
        _box((1, 99), (1, 99), (10, 200), (10, 200)),
        "<=0 <=0 >=1296000",
        6059.714335,
        (0, 1),
    ),
    "cantilever": lambda: (
        cantilever,
        _box((2.0, 12.0), (0.1, 1.0), (0.1, 2.0), (3.0, 7.0)),
        "<=5000 <=0.1",
        92.76934,
    ),
    "g10": lambda: _g(10, 7049.248020),
    "chartmann": lambda: (chartmann, np.tile([0.0, 1.0], (6, 1)), "<=1", -3.32237),
    "column": lambda: (column, _box((2.0, 14.0), (0.2, 0.8)), "<=500 <=1", 26.48636),
    "stepped-cantilever": lambda: (stepped_cantilever, np.tile([1.0, 100.0], (5, 1)), "<=1", 1.339956),
    "i-beam": lambda: (
        i_beam,
        _box((10.0, 50.0), (10.0, 80.0), (0.9, 5.0), (0.9, 5.0)),
        "<=300 <=6",
        0.01307412,
    ),
    "bulkhead": lambda: (
        bulkhead,
        _box((0.1, 100.0), (0.1, 100.0), (0.1, 100.0), (0.1, 5.0)),
        ">=1 >=1 >=0.15 >=0.15 >=0",
        6.84296,
    ),
    "gas-pipeline": lambda: (
        gas_pipeline,
        _box((20.0, 50.0), (1.0, 10.0), (20.0, 50.0), (0.1, 60.0)),
        "<=1",
        2964895.417,
    ),
    "side-impact": lambda: (
        side_impact,
        _box((0.5, 1.5), (0.45, 1.35), (0.5, 1.5), (0.5, 1.5), (0.875, 2.625), (0.4, 1.2), (0.4, 1.2)),
        "<=1 <=0.32 <=0.32 <=0.32 <=32 <=32 <=32 <=4 <=9.9 <=15.7",
        23.58,
    ),
    "disc-brake": lambda: (
        disc_brake,
        _box((55.0, 80.0), (75.0, 110.0), (1000.0, 3000.0), (11, 20)),
        "<=3 >=20 <=0.4 <=1 >=900",
        2.0,
        (3,),
    ),
    "thrust-bearing": lambda: (
        thrust_bearing,
        _box((1.0, 16.0), (0.1, 0.95), (1.0, 16.0), (1.0, 16.0)),
        ">=101000 <=1000 <=50 >=0.001 <=0.001 <=5000",
        1625.44,
    ),
    "concrete-beam": lambda: (
        concrete_beam,
        _box((0, 10), (28, 40), (5.0, 10.0)),
        "<=4 >=180",
        359.208,
        (0, 1),
    ),
    "piston-lever": lambda: (
        piston_lever,
        _box((0.05, 500.0), (0.05, 500.0), (0.05, 500.0), (0.05, 120.0)),
        "<=0 <=1800000 <=0 <=0",
        8.41269832,
    ),
    "amplifier": _circuit,
}


def design(name: str) -> Problem:
    """The problem of a name."""
    outputs, box, text, minimum, *integers = DESIGNS[name]()
    limits = tuple(text.split())
    signs = np.array([1.0 if limit.startswith("<=") else -1.0 for limit in limits])
    bounds = np.array([float(limit[2:]) for limit in limits])

    def fun(x: np.ndarray) -> Values:
        f, *values = outputs(x)
        return f, *(signs * (np.array(values) - bounds))

    return Problem(name, fun, box, minimum, *integers, outputs=outputs, limits=limits)


# Tuned on: these, the problems of constrained_problems.py, and COCO's.
TUNING = (
    *("design-beam", "design-spring", "design-vessel", "cantilever", "g10", "chartmann"),
    *("beam", "reducer", "truss", "g4", "g6", "g8", "g9", "g24", "gramacy", "keane"),
    *("c1-5", "c8-2", "c20-5", "c25-2", "c32-5", "c44-2"),
)
VALIDATION = (
    *("column", "stepped-cantilever", "i-beam", "bulkhead", "gas-pipeline"),
    *("side-impact", "disc-brake", "thrust-bearing", "concrete-beam", "piston-lever"),
    *("c4-5", "c11-2", "c17-5", "c22-2", "c29-5", "c35-2", "c40-5", "c52-2"),
)
REAL = ("amplifier",)  # a simulator: see examples/ngspice
