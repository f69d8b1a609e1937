"""Writes reference_f64.tsv: operation, arguments, nearest f64, and where the exact value lies from it in ulps.

Numbers are the hexadecimal bits of an f64. Needs mpmath. Run: python reference.py > reference_f64.tsv
"""

import math
import random
import struct

import mpmath
from mpmath import mp, mpf

mp.prec = 2400  # sines of 2^1023 need their argument's bits and 2/pi's
POINTS = 200
MIN_EXPONENT = -1074


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def from_bits(b):
    return struct.unpack("<d", struct.pack("<Q", b))[0]


def rounded(value):
    """The nearest f64, and (exact - nearest) in ulps."""
    if value == 0:
        return 0.0, 0.0
    exponent = max(int(mpmath.floor(mpmath.log(abs(value), 2))) - 52, MIN_EXPONENT)
    scaled = mpmath.ldexp(value, -exponent)
    nearest = int(mpmath.nint(scaled))
    if abs(nearest) * mpf(2) ** exponent >= mpf(2) ** 1024:
        return float("inf") if value > 0 else float("-inf"), 0.0
    magnitude = float(mpmath.ldexp(mpf(abs(nearest)), exponent))
    return math.copysign(magnitude, value), float(scaled - nearest)


def spread(random, low, high):
    """Points evenly over the exponents between two positive bounds, with both signs."""
    a, b = bits(low), bits(high)
    return lambda: random.choice([-1, 1]) * from_bits(random.randint(a, b))


def uniform(random, low, high):
    return lambda: random.uniform(low, high)


def positive(draw):
    return lambda: abs(draw())


def mixture(random, *draws):
    return lambda: random.choice(draws)()


def unary(random):
    anywhere = spread(random, 5e-324, 1.7e308)
    near = lambda low, high: uniform(random, low, high)
    tiny = spread(random, 1e-30, 1.0)
    turns = lambda: round(random.uniform(1, 1e6)) * float(mp.pi / 2) * (1 + random.randint(-2, 2) * 2.0**-52)
    angle = mixture(random, near(-10, 10), turns, anywhere, spread(random, 1e3, 1e7))
    return {
        "math.exp": (mp.exp, mixture(random, near(-745, 710), near(-2, 2), tiny)),
        "math.exp2": (lambda x: mpf(2) ** x, mixture(random, near(-1075, 1024), near(-2, 2), tiny)),
        "math.expm1": (mp.expm1, mixture(random, near(-40, 710), near(-1, 1), tiny)),
        "math.log": (mp.log, positive(mixture(random, anywhere, near(0.5, 2)))),
        "math.log2": (lambda x: mp.log(x) / mp.log(2), positive(mixture(random, anywhere, near(0.5, 2)))),
        "math.log10": (lambda x: mp.log(x) / mp.log(10), positive(mixture(random, anywhere, near(0.5, 2)))),
        "math.log1p": (mp.log1p, mixture(random, near(-0.999, 2), tiny, positive(anywhere))),
        "math.sin": (mp.sin, angle),
        "math.cos": (mp.cos, angle),
        "math.tan": (mp.tan, angle),
        "math.sinh": (mp.sinh, mixture(random, near(-710, 710), near(-2, 2), tiny)),
        "math.cosh": (mp.cosh, mixture(random, near(-710, 710), near(-2, 2), tiny)),
        "math.tanh": (mp.tanh, mixture(random, near(-20, 20), near(-1, 1), tiny)),
        "math.asin": (mp.asin, mixture(random, near(-1, 1), tiny)),
        "math.acos": (mp.acos, mixture(random, near(-1, 1), tiny)),
        "math.atan": (mp.atan, mixture(random, near(-3, 3), anywhere)),
        "math.asinh": (mp.asinh, mixture(random, near(-3, 3), anywhere)),
        "math.acosh": (mp.acosh, mixture(random, near(1, 3), lambda: 1 + abs(tiny()), spread_above(random))),
        "math.atanh": (mp.atanh, mixture(random, near(-1, 1), tiny)),
        "math.cbrt": (lambda x: mp.sign(x) * mp.cbrt(abs(x)), anywhere),
        "math.rsqrt": (lambda x: 1 / mp.sqrt(x), positive(anywhere)),
        "math.erf": (mp.erf, mixture(random, near(-6, 6), near(-1, 1), tiny)),
        "math.erfc": (mp.erfc, mixture(random, near(-6, 27), near(-1, 1), tiny)),
    }


def spread_above(random):
    return lambda: abs(spread(random, 1.0, 1.7e308)())


def binary(random):
    anywhere = spread(random, 5e-324, 1.7e308)
    middle = spread(random, 1e-5, 1e5)
    near = lambda low, high: uniform(random, low, high)

    def power():
        x = abs(random.choice([anywhere, middle, near(0.9, 1.1)])())
        limit = 1074 / max(abs(float(mp.log(x, 2))), 1e-300)
        return x, random.uniform(-1, 1) * min(limit, 1e300)

    def fmod(x, y):
        x, y = mpf(x), mpf(y)
        return mp.sign(x) * (abs(x) - mp.floor(abs(x) / abs(y)) * abs(y))

    def pair(draw):
        return lambda: (draw(), draw())

    return {
        "math.atan2": (mp.atan2, mixture(random, pair(middle), pair(anywhere), pair(near(-1, 1)))),
        "math.powf": (lambda x, y: mp.power(x, y), power),
        "arith.remf": (fmod, mixture(random, pair(middle), pair(anywhere), pair(near(-9, 9)))),
    }


def main():
    generator = random.Random(22)
    for operation, (function, draw) in unary(generator).items():
        for _ in range(POINTS):
            x = draw()
            emit(operation, [x], function(mpf(x)))
    for operation, (function, draw) in binary(generator).items():
        for _ in range(POINTS):
            x, y = draw()
            emit(operation, [x, y], function(mpf(x), mpf(y)))


def emit(operation, arguments, value):
    nearest, offset = rounded(value)
    columns = [f"{bits(a):016x}" for a in arguments] + [f"{bits(nearest):016x}", f"{offset:.3f}"]
    print(operation, *columns, sep="\t")


main()
