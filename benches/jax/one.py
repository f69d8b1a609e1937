"""One program on one platform of JAX, in a process of its own. Prints one line of JSON, and writes the results to an npz file."""
import argparse
import json
import os
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../models'))
os.environ.setdefault('EQX_ON_ERROR', 'off')  # as in ../models/measure.py

import jax
import numpy as np


def times_of(run, seconds):
    """Times of calls in microseconds, which include the dispatch by Python and the wait for the results."""
    times, end = [], time.perf_counter() + seconds
    run(), run()
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(1e6 * (time.perf_counter() - begin))
    return times


def model(name, options):
    """A program of ../models: time until the first result, and median time of a call."""
    import families
    from measure import on_disk
    from program import PROGRAMS
    families.load()
    program = PROGRAMS[name]
    jax.config.update('jax_enable_x64', program.x64)
    function, arguments = program.make()
    function = jax.jit(function)
    placed = jax.device_put(arguments)
    jax.block_until_ready(placed)
    begin = time.perf_counter()
    result = jax.block_until_ready(function(*placed))
    first = 1e3 * (time.perf_counter() - begin)
    if options.results:
        np.savez(options.results, **{f'arr_{index}': on_disk(leaf) for index, leaf in enumerate(jax.tree.leaves(result))})
    run = lambda: jax.block_until_ready(function(*placed))
    types = [str(leaf.dtype) for leaf in jax.tree.leaves(result)]
    return dict(first_ms=first, us=statistics.median(times_of(run, options.seconds)), types=types)


def tiny(options):
    """A compiled `x + 1` on eight numbers: the dispatch alone."""
    function = jax.jit(lambda x: x + 1)
    x = jax.device_put(np.arange(8, dtype=np.float32))
    return dict(us=statistics.median(times_of(lambda: function(x).block_until_ready(), options.seconds)))


def mixed_operations(count):
    """Operations as in a script for numpy, on a few shapes."""
    import jax.numpy as jnp
    total = jnp.zeros(())
    for step in range(count // 10):
        size = (16, 48, 100)[step % 3]
        x = jnp.arange(size * size, dtype=jnp.float32).reshape(size, size) / (size * size)
        y = jnp.sin(x) + jnp.exp(-x)
        z = jnp.where(y > 1, y, x)
        w = z @ x.T
        total = total + jnp.max(jnp.sum(w, axis=step % 2))
    return jax.block_until_ready(total)


def eager(options):
    """1,000 operations without jit: the first time with compilations, then without."""
    begin = time.perf_counter()
    mixed_operations(1000)
    cold = 1e3 * (time.perf_counter() - begin)
    warm = [times / 1e3 for times in times_of(lambda: mixed_operations(1000), options.seconds)]
    return dict(cold_ms=cold, warm_ms=statistics.median(warm))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('program', help='a program of ../models, or `tiny`, or `eager`')
    parser.add_argument('--results', help='an npz file to write')
    parser.add_argument('--seconds', type=float, default=.5)
    options = parser.parse_args()
    own = dict(tiny=tiny, eager=eager)
    row = own[options.program](options) if options.program in own else model(options.program, options)
    # fusebox may present itself under the name cpu.
    backend = jax.devices()[0].client
    platform = 'fusebox' if 'fusebox' in backend.platform_version else backend.platform
    print(json.dumps(dict(row, platform=platform)))


if __name__ == '__main__':
    main()
