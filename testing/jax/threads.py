#!/usr/bin/env python3
"""Eight threads compile and execute programs at the same time, donate and delete arrays, and check every result.

    JAX_PLATFORMS=fusebox,cpu threads.py --seconds 120

Each thread draws small programs and arguments from its own seed. The expected results are integers that numpy computes, so
that they are exact. Some arrays are shared by all threads; each other array belongs to one thread, which donates it, deletes
it, copies it to the host, or executes with it again. Exit code 1, if a result differs, or an operation does not raise the
error that it has to raise.
"""
import argparse
import functools
import sys
import threading
import time

import jax
import numpy

SIZES = [1, 7, 64, 1000, 4096, 65537]


@functools.cache
def program(kind, factor, donates):
    """A compiled program, which several threads request at the same time."""
    bodies = dict(
        scaled=lambda x, y: x * factor + y,
        summed=lambda x, y: x + (y * factor).sum(),
        reversed=lambda x, y: x[::-1] - factor * y,
        looped=lambda x, y: jax.lax.fori_loop(0, factor, lambda _, carried: carried + y, x),
        sorted=lambda x, y: jax.numpy.sort(x * factor) + y)
    return jax.jit(bodies[kind], donate_argnums=(0,) if donates else ())


def expected(kind, factor, x, y):
    """The result of the program `kind` by numpy."""
    with numpy.errstate(over='ignore'):
        if kind == 'scaled':
            return x * factor + y
        if kind == 'summed':
            return x + (y * factor).sum(dtype=x.dtype)
        if kind == 'reversed':
            return x[::-1] - factor * y
        return x + factor * y if kind == 'looped' else numpy.sort(x * factor) + y


class Worker(threading.Thread):
    """A thread that executes until a time, and counts its executions and faults."""

    def __init__(self, seed, shared, until):
        super().__init__()
        self.draw = numpy.random.default_rng(seed)
        self.shared, self.until = shared, until
        self.executions, self.faults = 0, []

    def run(self):
        try:
            while time.monotonic() < self.until and not self.faults:
                self.step()
        except Exception as error:
            self.faults.append(f'{type(error).__name__}: {error}')

    def step(self):
        """Executes one program a few times with its own results, and checks them."""
        kind = str(self.draw.choice(['scaled', 'summed', 'reversed', 'looped', 'sorted']))
        factor, donates = int(self.draw.integers(1, 12)), bool(self.draw.integers(2))
        shared_host, shared = self.shared[self.draw.integers(len(self.shared))]
        host = self.draw.integers(-1000, 1000, shared_host.shape, dtype=numpy.int32)
        value = jax.device_put(host)
        for _ in range(int(self.draw.integers(1, 6))):
            previous, value = value, program(kind, factor, donates)(value, shared)
            host = expected(kind, factor, host, shared_host)
            self.executions += 1
            self.released(previous, donates)
        if not numpy.array_equal(numpy.asarray(value), host):
            self.faults.append(f'{kind} by {factor} with {host.size} numbers gives a wrong result')

    def released(self, array, donated):
        """A donated array is deleted, and so is an array after `delete`: its use is an error."""
        if not donated and self.draw.integers(2):
            return
        if not donated:
            array.delete()
        if not array.is_deleted():
            self.faults.append('an array is alive after donation or deletion')
        try:
            numpy.asarray(array)
            self.faults.append('a deleted array can be read')
        except RuntimeError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--seconds', type=float, default=120)
    parser.add_argument('--threads', type=int, default=8)
    options = parser.parse_args()
    draw = numpy.random.default_rng(0)
    hosts = [draw.integers(-1000, 1000, size, dtype=numpy.int32) for size in SIZES]
    shared = [(host, jax.device_put(host)) for host in hosts]
    until = time.monotonic() + options.seconds
    workers = [Worker(seed, shared, until) for seed in range(1, options.threads + 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    faults = [fault for worker in workers for fault in worker.faults]
    print(f'{jax.default_backend()}: {sum(worker.executions for worker in workers)} executions, {len(faults)} faults', *faults, sep='\n    ')
    sys.exit(bool(faults))


if __name__ == '__main__':
    main()
