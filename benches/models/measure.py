"""One program against XLA:CPU: results, run time, compile time, memory, kernels. In a process of its own, which prints one line of JSON."""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('EQX_ON_ERROR', 'off')  # diffrax raises errors through calls of python, which a compiled module cannot make
import jax
import numpy as np

import families
from program import PROGRAMS

# Instructions that XLA:CPU executes as separate units. The other instructions of its entry and loops are bookkeeping.
KERNELS = re.compile(r'^(?:ROOT )?\S+ = .*? (fusion|dot|convolution|reduce|reduce-window|scatter|gather|sort|copy|transpose|concatenate|custom-call|fft|pad|slice|'
                     r'dynamic-slice|dynamic-update-slice|broadcast|iota|convert|select|select-and-scatter|topk|cholesky|triangular-solve|rng-bit-generator)\(')


def kernels_of_xla(text):
    """Instructions that are executed outside of fusions and of what reductions and sorts apply."""
    inner = set(re.findall(r'(?:calls|to_apply|comparator|select|scatter)=%?([\w.-]+)', ''.join(line for line in text.splitlines(True) if ' call(' not in line)))
    count, counted = 0, False
    for line in text.splitlines():
        header = re.match(r'(?:ENTRY )?%?([\w.-]+) .*\{$', line)
        if header:
            counted = header[1] not in inner
        elif counted and KERNELS.match(line.strip()):
            count += 1
    return count


def on_disk(array):
    """As .npz keeps it: types that numpy does not know by their bytes."""
    array = np.asarray(array)
    return array if array.dtype.isbuiltin == 1 else array.view(f'V{array.dtype.itemsize}')


def write(lowered, arguments, folder, name):
    module, inputs, outputs = (os.path.join(folder, f'{name}.{kind}') for kind in ('hlo', 'in.npz', 'out.npz'))
    with open(module, 'w') as file:
        file.write(lowered.as_text('hlo'))
    kept = lowered._lowering.compile_args.get('kept_var_idx')
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(arguments)]
    leaves = [leaves[index] for index in sorted(kept)] if kept is not None else leaves
    np.savez(inputs, **{f'arr_{index}': on_disk(leaf) for index, leaf in enumerate(leaves)})
    return module, inputs, outputs


# If a result contains no larger number, all its numbers are rounding errors of sums that would be zero.
NOISE = 1e-5


def difference(expected, path):
    """The largest difference of a result of floats, relative to the result's largest number; infinite where anything else differs."""
    worst = 0.0
    with np.load(path) as found:
        for index, wanted in enumerate(expected):
            got = found[f'arr_{index}']
            got = got.view(wanted.dtype) if got.dtype.kind == 'V' else got
            if got.shape != wanted.shape or got.dtype != wanted.dtype:
                return float('inf')
            if jax.numpy.issubdtype(wanted.dtype, jax.numpy.inexact):
                wide = np.complex128 if wanted.dtype.kind == 'c' else np.float64
                wanted, got = wanted.astype(wide), got.astype(wide)
                finite = np.isfinite(wanted)
                if not np.array_equal(wanted[~finite], got[~finite], equal_nan=True):
                    return float('inf')
                if finite.any():
                    distance = np.abs(got[finite] - wanted[finite]).max()
                    worst = max(worst, float(distance / max(np.abs(wanted[finite]).max(), NOISE)))
            elif not np.array_equal(wanted, got):
                return float('inf')
            if np.isnan(worst):
                return float('inf')
    return worst


def of_xla(run, seconds):
    times, end = [], time.perf_counter() + seconds
    run(), run()
    while len(times) < 5 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(times)


def fusebox(*words):
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError((made.stderr.strip().splitlines() or [f'exit code {made.returncode}'])[0])
    return made.stdout


def measured(program, options):
    function, arguments = program.make()
    lowered = jax.jit(function).lower(*arguments)
    module, inputs, outputs = write(lowered, arguments, options.folder, program.name)
    row = dict(name=program.name, family=program.family, tolerance=program.tolerance, why=program.why)
    if options.lower:
        return row
    begin = time.perf_counter()
    compiled = lowered.compile()
    row['xla_compile_ms'] = 1e3 * (time.perf_counter() - begin)
    memory = compiled.memory_analysis()
    written = memory.output_size_in_bytes + memory.temp_size_in_bytes - memory.alias_size_in_bytes
    row['xla_peak_bytes'] = memory.argument_size_in_bytes + written
    row['xla_kernels'] = kernels_of_xla(compiled.as_text())
    placed = jax.device_put(arguments)
    run = lambda: jax.block_until_ready(compiled(*placed))
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(run())]
    try:
        fusebox(options.fusebox, 'run', module, '--inputs', inputs, '--outputs', outputs)
        row['difference'] = difference(expected, outputs)
        row['right'] = row['difference'] <= program.tolerance
        memory = json.loads(fusebox(options.fusebox, 'explain', module, '--memory', '--json'))
        row['peak_bytes'] = memory['arguments'] + memory['outputs'] + memory['temporaries']
        row['kernels'] = len(json.loads(fusebox(options.fusebox, 'explain', module, '--json')))
        rounds = []
        for _ in range(options.rounds):
            ours = json.loads(fusebox(options.fusebox, 'bench', module, '--inputs', inputs, '--json').strip().splitlines()[-1])
            rounds.append((of_xla(run, options.seconds), ours['median_us'], ours['compile_ms']))
        if rounds:
            row['xla_us'], row['us'], row['compile_ms'] = (statistics.median(column) for column in zip(*rounds))
    except RuntimeError as error:
        row['error'] = str(error)
    os.path.exists(outputs) and os.remove(outputs)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('program')
    parser.add_argument('folder')
    parser.add_argument('--fusebox')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=.5)
    parser.add_argument('--lower', action='store_true', help='only write the module and its inputs')
    options = parser.parse_args()
    families.load()
    program = PROGRAMS[options.program]
    jax.config.update('jax_enable_x64', program.x64)
    print(json.dumps(measured(program, options)))


if __name__ == '__main__':
    main()
