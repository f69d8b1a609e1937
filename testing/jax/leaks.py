#!/usr/bin/env python3
"""Trains a small model for many steps, and compares the memory of the process after a tenth of the steps with that at the end.

    JAX_PLATFORMS=fusebox,cpu leaks.py --steps 10000

Every 50 steps the loss is read; every 1,000 steps a function is compiled anew and a new array comes from the host. Exit code
1, if the resident memory grows by more than 2 %.
"""
import argparse
import gc
import sys

import jax
import jax.numpy as jnp
import numpy


def resident():
    """The resident memory of this process, in MiB."""
    with open('/proc/self/status') as status:
        return next(int(line.split()[1]) for line in status if line.startswith('VmRSS')) / 1024


def loss(parameters, x, y):
    hidden = jnp.tanh(x @ parameters['first'] + parameters['bias'])
    return jnp.mean((hidden @ parameters['second'] - y) ** 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--steps', type=int, default=10000)
    options = parser.parse_args()
    draw = numpy.random.default_rng(0)
    parameters = {name: jnp.asarray(draw.normal(size=shape) / 8, jnp.float32)
                  for name, shape in dict(first=(64, 128), bias=(128,), second=(128, 16)).items()}

    @jax.jit
    def step(parameters, x, y):
        value, gradient = jax.value_and_grad(loss)(parameters, x, y)
        return value, jax.tree.map(lambda old, slope: old - 0.05 * slope, parameters, gradient)

    step_in_place = jax.jit(step, donate_argnums=0)
    batches = [(jnp.asarray(draw.normal(size=(32, 64)), jnp.float32), jnp.asarray(draw.normal(size=(32, 16)), jnp.float32)) for _ in range(8)]
    early = None
    for number in range(options.steps):
        value, parameters = (step_in_place if number % 2 else step)(parameters, *batches[number % len(batches)])
        if number % 50 == 0:
            float(value)
        if number % 1000 == 0:
            batches[0] = (jnp.asarray(draw.normal(size=(32, 64)), jnp.float32), batches[0][1])
            float(jax.jit(lambda x, number=number: (x * number).sum())(batches[0][0]))
        if number == options.steps // 10:
            gc.collect()
            early = resident()
    gc.collect()
    late = resident()
    print(f'{jax.default_backend()}: {early:.1f} MiB after {options.steps // 10} steps, {late:.1f} MiB after {options.steps}; loss {float(value):.4f}')
    sys.exit(late > early * 1.02)


if __name__ == '__main__':
    main()
