#!/usr/bin/env python3
"""A steel beam with a hollow rectangular section, clamped at one end and loaded at the other; nothing but Python.

    python3 beam.py HEIGHT TAPER WALL

HEIGHT in mm is that of the section at the clamp, TAPER its share that is left at the tip, WALL in mm the thickness of
the wall. The width is fixed. It prints mass (kg), greatest stress (MPa), deflection of the tip (mm) and the factor by
which the load could grow until the compressed flange buckles.
"""

import json
import math
import sys

LENGTH, WIDTH, FORCE = 2.0, 0.08, 12e3  # m, m, N
YOUNG, POISSON, DENSITY = 210e9, 0.3, 7850.0  # steel
STEPS = 400


def main(arguments):
    try:
        height, taper, wall = (float(text) for text in arguments)
    except ValueError:
        print("usage: beam.py HEIGHT TAPER WALL", file=sys.stderr)
        return 2
    wall, root = wall / 1e3, height / 1e3
    inner = WIDTH - 2 * wall
    if min(inner, root * taper - 2 * wall) <= 0.0:
        print("the walls meet: the section is not hollow", file=sys.stderr)
        return 3
    critical = 4 * math.pi**2 * YOUNG / (12 * (1 - POISSON**2)) * (wall / inner) ** 2
    mass = stress = deflection = 0.0
    step = LENGTH / STEPS
    for i in range(STEPS):
        x = (i + 0.5) * step
        h = root * (1 - (1 - taper) * x / LENGTH)
        area = WIDTH * h - inner * (h - 2 * wall)
        inertia = (WIDTH * h**3 - inner * (h - 2 * wall) ** 3) / 12
        moment = FORCE * (LENGTH - x)
        mass += DENSITY * area * step
        stress = max(stress, moment * h / 2 / inertia)
        deflection += moment * (LENGTH - x) / (YOUNG * inertia) * step
    print(f"beam of {height:g} mm, {STEPS} sections")
    outputs = {
        "mass": mass,
        "stress": stress / 1e6,
        "deflection": deflection * 1e3,
        "buckling": critical / stress,
    }
    print(json.dumps({name: float(f"{value:.12g}") for name, value in outputs.items()}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
