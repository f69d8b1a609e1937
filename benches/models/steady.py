#!/usr/bin/env python3
"""Whether programs give the same bits for every number of threads and in every run, and whether running them leaks memory.

    steady.py --fusebox target/release/fusebox --steady target/release/steady --folder DIR

DIR holds NAME.hlo and NAME.in.npz, as `run.py --folder DIR --lower` writes them. Each program is compiled and run for 1, 2 and 7 threads, then
run 20 times and on and on, up to --runs times or --seconds, in one process. Exits with 1 if bits differ or memory grows by more than 1 MiB.
"""
import argparse
import glob
import hashlib
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

THREADS = (1, 2, 7)
MOST_GROWN = 1 << 20


def digest(path):
    """Of the arrays alone: a file of arrays holds times too."""
    with np.load(path) as arrays:
        return hashlib.sha256(b''.join(name.encode() + arrays[name].tobytes() for name in sorted(arrays))).hexdigest()


def measured(name, options, temporary):
    module, inputs = (os.path.join(options.folder, f'{name}.{kind}') for kind in ('hlo', 'in.npz'))
    outputs, executable = (os.path.join(temporary, file) for file in ('out.npz', 'it.fusebox'))
    digests = set()
    for threads in THREADS:
        subprocess.run([options.fusebox, 'run', module, '--inputs', inputs, '--outputs', outputs, '--threads', str(threads)], check=True, capture_output=True)
        digests.add(digest(outputs))
    subprocess.run([options.fusebox, 'compile', module, '--emit', 'executable', '-o', executable, '--threads', '2'], check=True, capture_output=True)
    words = [options.steady, executable, '--inputs', inputs, '--runs', str(options.runs), '--seconds', str(options.seconds)]
    return dict(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout), threads=len(digests) == 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox', required=True)
    parser.add_argument('--steady', required=True)
    parser.add_argument('--folder', required=True)
    parser.add_argument('--runs', type=int, default=10000)
    parser.add_argument('--seconds', type=int, default=10)
    options = parser.parse_args()
    bad, rows = [], []
    for module in sorted(glob.glob(os.path.join(options.folder, '*.hlo'))):
        name = os.path.basename(module).removesuffix('.hlo')
        with tempfile.TemporaryDirectory() as temporary:
            try:
                row = measured(name, options, temporary)
            except subprocess.CalledProcessError as error:
                row = dict(runs=0, same=False, threads=False, grown=0)
                print(name, (error.stderr or b'')[-500:], file=sys.stderr)
        rows.append(row)
        is_good = row['same'] and row['threads'] and row['grown'] <= MOST_GROWN
        bad += [] if is_good else [name]
        print(f'{name:34} {row["runs"]:6} runs  {"same" if row["same"] else "DIFFER"}  threads {"same" if row["threads"] else "DIFFER"}  {row["grown"]:9} bytes more', flush=True)
    print(f'{len(rows)} programs, {sum(row["runs"] for row in rows)} runs, at most {max(row["grown"] for row in rows)} bytes more')
    return f'not steady: {", ".join(bad)}' if bad else None


if __name__ == '__main__':
    sys.exit(main())
