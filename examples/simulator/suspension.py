#!/usr/bin/env python3
"""The same as suspension.c, for machines without a C compiler; it needs nothing but Python."""

import math
import sys

BODY, WHEEL, TYRE, STOP, SPEED = 300.0, 40.0, 2.0e5, 0.08, 10.0
STEP, DURATION = 5.0e-4, 3.0


def road(t):
    s = SPEED * t
    height = 0.002 * (math.sin(2.1 * s) + 0.7 * math.sin(5.3 * s + 1.0) + 0.4 * math.sin(11.7 * s + 2.0))
    return height + (0.05 * math.sin(math.pi * (s - 2.0) / 0.8) if 2.0 < s < 2.8 else 0.0)


def rate(t, x, stiffness, damping, progressive):
    body, wheel, body_speed, wheel_speed = x
    travel = wheel - body
    k = stiffness * (1.0 + 4.0 * (travel / STOP) ** 2) if progressive else stiffness
    force = k * travel + damping * (wheel_speed - body_speed)
    return (body_speed, wheel_speed, force / BODY, (TYRE * (road(t) - wheel) - force) / WHEEL)


def moved(x, dx, h):
    return tuple(u + h * du for u, du in zip(x, dx, strict=True))


def main(arguments):
    if len(arguments) != 3 or arguments[2] not in ("linear", "progressive"):
        print("usage: suspension STIFFNESS DAMPING linear|progressive", file=sys.stderr)
        return 2
    car = (float(arguments[0]), float(arguments[1]), arguments[2] == "progressive")
    x = (0.0, 0.0, 0.0, 0.0)
    discomfort = slip = 0.0
    n = round(DURATION / STEP)
    for i in range(n):
        t = i * STEP
        a = rate(t, x, *car)
        b = rate(t + STEP / 2, moved(x, a, STEP / 2), *car)
        c = rate(t + STEP / 2, moved(x, b, STEP / 2), *car)
        d = rate(t + STEP, moved(x, c, STEP), *car)
        for dx, h in ((a, STEP / 6), (b, STEP / 3), (c, STEP / 3), (d, STEP / 6)):
            x = moved(x, dx, h)
        if not abs(x[1] - x[0]) < STOP:
            print("the suspension hits its stop", file=sys.stderr)
            return 3
        discomfort += a[2] ** 2 / n
        slip += (TYRE * (road(t) - x[1]) / (9.81 * (BODY + WHEEL))) ** 2 / n
    print(f"acceleration of the body: {math.sqrt(discomfort):.6f} m/s^2 (rms)")
    print(f"variation of the tyre force: {math.sqrt(slip):.6f} (rms, share of the weight)")
    print(f"cost = {math.sqrt(discomfort) + 10.0 * math.sqrt(slip):.12g}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
