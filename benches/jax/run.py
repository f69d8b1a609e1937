#!/usr/bin/env python3
"""Programs of ../models through JAX, on fusebox and on JAX's own cpu: results, time until the first result, time of a call.

    FUSEBOX_PJRT_LIBRARY=target/release/libfusebox_pjrt.so run.py       all programs, three rounds
    run.py --only 'gpt_*,tiny,eager' --rounds 1                         some of them

Needs fusebox-jax (python/fusebox-jax) in the environment, and the libraries of ../models/requirements.txt. The platforms
alternate, a process each per round. Numbers are medians of rounds. Times include the dispatch by Python.
"""
import argparse
import fnmatch
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '../models'))
PLATFORMS = dict(fusebox='fusebox,cpu', cpu='cpu')
OWN = ('tiny', 'eager')
# Programs of a library that refuses other platforms than cpu, gpu and tpu.
NEED_KNOWN_PLATFORM = ('brax_ant_steps', 'mujoco_pendulums')


def measured(name, platform, results, seconds):
    """What `one.py` prints. Raises if the program fails or runs on another platform."""
    words = [sys.executable, os.path.join(HERE, 'one.py'), name, '--seconds', str(seconds)] + (['--results', results] if results else [])
    environment = dict(os.environ, JAX_PLATFORMS=PLATFORMS[platform])
    if name in NEED_KNOWN_PLATFORM:
        environment['FUSEBOX_PLATFORM_NAME'] = 'cpu'
    made = subprocess.run(words, capture_output=True, text=True, env=environment)
    if made.returncode:
        raise RuntimeError((made.stderr.strip().splitlines() or [f'exit code {made.returncode}'])[-1])
    row = json.loads(made.stdout.strip().splitlines()[-1])
    if row.pop('platform') != platform:
        raise RuntimeError(f'{name} did not run on {platform}')
    return row


def compared(name, folder, options):
    """The medians on both platforms, and the difference of the results."""
    rows = {platform: [] for platform in PLATFORMS}
    results = {platform: None if name in OWN else os.path.join(folder, f'{name}.{platform}.npz') for platform in PLATFORMS}
    for _ in range(options.rounds):
        for platform in PLATFORMS:
            row = measured(name, platform, results[platform], options.seconds)
            types = row.pop('types', [])
            rows[platform].append(row)
    medians = {platform: {key: statistics.median(row[key] for row in rounds) for key in rounds[0]} for platform, rounds in rows.items()}
    row = dict(name=name, ratios={key: medians['fusebox'][key] / medians['cpu'][key] for key in medians['cpu']}, cpu=medians['cpu'])
    if name not in OWN:
        import jax
        import numpy
        from measure import difference
        from program import PROGRAMS
        with numpy.load(results['cpu']) as expected:
            # The file contains the bytes of types that numpy lacks.
            arrays = [expected[f'arr_{index}'].view(jax.numpy.dtype(name)) for index, name in enumerate(types)]
        row['difference'] = difference(arrays, results['fusebox'])
        row['right'] = row['difference'] <= PROGRAMS[name].tolerance
    return row


def line(row):
    verdict = f'{"right" if row["right"] else "WRONG"} {row["difference"]:.1e}  ' if 'right' in row else ''
    parts = [f'{key} {ratio:.2f} of {row["cpu"][key]:.4g}' for key, ratio in row['ratios'].items()]
    return f'{row["name"]:34} {verdict}{", ".join(parts)}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', default='*', help='patterns of names, separated by commas')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=.5, help='for the calls of a round')
    parser.add_argument('--json', help='a file for what was measured')
    options = parser.parse_args()
    os.environ['JAX_PLATFORMS'] = 'cpu'
    import families
    from program import PROGRAMS
    families.load()
    names = [name for name in (*OWN, *PROGRAMS) if any(fnmatch.fnmatch(name, pattern) for pattern in options.only.split(','))]
    rows, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            try:
                rows.append(compared(name, folder, options))
                print(line(rows[-1]), flush=True)
            except RuntimeError as error:
                failed.append(name)
                print(f'{name:34} {error}', flush=True)
    if options.json:
        with open(options.json, 'w') as file:
            json.dump(rows, file, indent=1)
    models = [row for row in rows if 'right' in row]
    mean = lambda key: math.exp(statistics.fmean(math.log(row['ratios'][key]) for row in models))
    if models:
        worst = max(row['ratios']['us'] for row in models)
        print(f'JAX {len(models)} programs, {sum(row["right"] for row in models)} right, {len(failed)} failed; over JAX\'s cpu: '
              f'call {mean("us"):.3f}, at most {worst:.2f}; first result {mean("first_ms"):.3f}')
    sys.exit(bool(failed) or any(not row['right'] for row in models))


if __name__ == '__main__':
    main()
