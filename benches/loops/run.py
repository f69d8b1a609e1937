#!/usr/bin/env python3
"""Loops of small steps, and loops that update an array in place, against XLA:CPU, in one run.

    run.py --fusebox target/release/fusebox                 all cases, three rounds
    run.py --fusebox … --only 'scan_*'                      some of them
    run.py --list

XLA runs in this process, fusebox in one of its own per round; they alternate. A time is the least of all runs: what other programs on the
machine take is no property of either. Results are compared, each relative to its largest number. The last line gives the geometric mean of
fusebox's time over XLA's.

Python needs jax; nothing else is read but the programs that are made here.
"""
import argparse, fnmatch, json, math, os, subprocess, tempfile, time

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import jax, jax.numpy as jnp, numpy as np
from jax import lax

random = np.random.default_rng(0)
CASES = {}


def numbers(*shape):
    return random.standard_normal(shape).astype(np.float32)


def case(name, function, *arguments):
    CASES[name] = (function, arguments)


def scan(step, steps=2000):
    """The last state and all of them."""
    return lambda x, *rest: lax.scan(lambda state, _: (lambda new: (new, new))(step(state, *rest)), x, None, length=steps)


def runge_kutta(slope, h):
    def step(y):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return step


def lorenz(s):
    x, y, z = s
    return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])


def pendulum(s):
    return jnp.stack([s[1], -jnp.sin(s[0]) - 0.1 * s[1]])


def newton(x):
    miss = lambda x: x * x - 2 - jnp.sin(x)
    goes_on = lambda s: (s[1] < 2000) & (jnp.max(jnp.abs(miss(s[0]))) >= 0)
    return lax.while_loop(goes_on, lambda s: (s[0] - miss(s[0]) / (2 * s[0] - jnp.cos(s[0])), s[1] + 1), (x, 0))[0]


def updates(steps, update, start=0):
    return lambda x: lax.fori_loop(start, start + steps, update, x)


for size in (3, 8, 16, 32, 64):
    weights = numbers(size, size) / np.float32(math.sqrt(size))
    case(f'scan_sine_{size}', scan(lambda c: jnp.sin(c) * 1.1 + 0.1), numbers(size))
    case(f'scan_product_{size}', scan(lambda c, w: jnp.tanh(w @ c + 0.1)), numbers(size), weights)
    case(f'scan_product_by_columns_{size}', scan(lambda c, w: jnp.tanh(c @ w + 0.1)), numbers(size), weights)
    case(f'scan_linear_{size}', lambda x, u: lax.scan(lambda c, u: (c * 0.99 + 0.01 * u, c), x, u), numbers(size), numbers(2000, size))
case('scan_cosine_3', scan(jnp.cos), numbers(3))
case('scan_exponential_3', scan(lambda c: jnp.exp(-c * c) + 0.1), numbers(3))
case('runge_kutta_pendulum', scan(runge_kutta(pendulum, 0.01)), numbers(2))
case('runge_kutta_lorenz', scan(runge_kutta(lorenz, 0.005)), numbers(3))
case('newton', newton, np.abs(numbers(16)) + 1)
case('invariant_sum', lambda x: lax.fori_loop(0, 1_000_000, lambda _, c: c * 0.999 + jnp.sum(x), 0.0), numbers(1000))
case('update_elements', updates(500, lambda i, c: c.at[i * 1000].set(c[i] * 2 + 1)), numbers(1 << 20))
case('update_rows', updates(500, lambda i, c: lax.dynamic_update_slice(c, c[i][None] * 2 + 1, (i * 2, 0))), numbers(1024, 1024))
case('update_rows_alike', updates(500, lambda i, c: lax.dynamic_update_slice(c, c[i][None] * 2 + 1, (i, 0))), numbers(1024, 1024))
case('update_twice', updates(500, lambda i, c: c.at[i].set(c[1000 - i]).at[1000 - i].set(c[i])), numbers(1024, 1024))
case('table_of_lines', updates(999, lambda i, c: c.at[i].set(jnp.minimum(c[i - 1] + 1, jnp.roll(c[i - 1], 1))), 1), numbers(1000, 1000))
case('table_of_numbers', updates(998, lambda i, c: c.at[i].set(c[i - 1] * 0.5 + c[i - 2] * 0.3), 2), numbers(1000))
case('update_columns', updates(512, lambda i, c: c.at[:, i].set(c[:, i] - c @ c[i] * 0.001)), numbers(512, 512))


class Measured:
    """A case with its program in a folder, and the least time of each in seconds."""

    def __init__(self, name, folder):
        function, self.arguments = CASES[name]
        lowered = jax.jit(function).lower(*self.arguments)
        self.module, self.inputs, self.outputs = (os.path.join(folder, f'{name}.{kind}') for kind in ('hlo', 'in.npz', 'out.npz'))
        with open(self.module, 'w') as file:
            file.write(lowered.as_text('hlo'))
        np.savez(self.inputs, **{f'arr_{i}': value for i, value in enumerate(self.arguments)})
        self.compiled = lowered.compile()
        self.xla = self.fusebox = math.inf

    def difference(self, fusebox):
        subprocess.run([fusebox, 'run', self.module, '--inputs', self.inputs, '--outputs', self.outputs], check=True, capture_output=True)
        results = np.load(self.outputs)
        worst = 0.0
        for i, expected in enumerate(jax.tree.leaves(self.compiled(*self.arguments))):
            expected, got = np.asarray(expected, np.float64), np.asarray(results[f'arr_{i}'], np.float64)
            worst = max(worst, np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-30))
        return worst

    def round(self, fusebox, seconds=0.25):
        values = [jnp.asarray(value) for value in self.arguments]
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            start = time.perf_counter()
            jax.block_until_ready(self.compiled(*values))
            self.xla = min(self.xla, time.perf_counter() - start)
        line = subprocess.run([fusebox, 'bench', self.module, '--inputs', self.inputs, '--json'], check=True, capture_output=True, text=True).stdout
        self.fusebox = min(self.fusebox, json.loads(line.splitlines()[-1])['min_us'] * 1e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox')
    parser.add_argument('--only', default='*', help='names, with *, separated by commas')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    chosen = [name for name in CASES if any(fnmatch.fnmatch(name, only) for only in options.only.split(','))]
    if options.list or not options.fusebox:
        print('\n'.join(chosen))
        return
    ratios = []
    print(f'{"":32} {"XLA us":>9} {"us":>9} {"ratio":>6}  difference')
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            measured = Measured(name, folder)
            difference = measured.difference(options.fusebox)
            for _ in range(options.rounds):
                measured.round(options.fusebox)
            ratios.append(measured.fusebox / measured.xla)
            print(f'{name:32} {measured.xla * 1e6:9.1f} {measured.fusebox * 1e6:9.1f} {ratios[-1]:6.3f}  {difference:.1e}', flush=True)
    print(f'geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, at most {max(ratios):.2f}')


if __name__ == '__main__':
    main()
