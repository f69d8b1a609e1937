#!/usr/bin/env python3
"""Real JAX programs against XLA:CPU: results, run time, compile time, memory, kernels.

    run.py --fusebox target/release/fusebox                 all programs, three rounds
    run.py --only 'gpt_*,resnet50_*' --rounds 1             some of them
    run.py --folder DIR --lower                             only write NAME.hlo and NAME.in.npz
    run.py --json FILE                                      keeps what was measured; a second call adds to it
    run.py --json FILE --report --table FILE.md --plot FILE.svg     a table and a plot of what was kept
    run.py --list

Python needs the libraries in requirements.txt. Each program is lowered, compiled and timed by XLA in a process of its own, and
fusebox compiles and runs the same module in between, a process per round. Times are the medians of rounds, XLA has as many threads
as fusebox (one per core), compile times are of fresh processes. Weights are random, and nothing is fetched.
"""
import argparse
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def measured(name, folder, options):
    """What `measure.py` prints, or why there is nothing."""
    words = [sys.executable, os.path.join(HERE, 'measure.py'), name, folder, '--fusebox', os.path.abspath(options.fusebox)]
    words += ['--rounds', str(options.rounds), '--seconds', str(options.seconds)] + ['--lower'] * options.lower
    made = subprocess.run(words, capture_output=True, text=True, cwd=HERE)
    if made.returncode:
        return dict(name=name, error=(made.stderr.strip().splitlines() or ['failed'])[-1])
    return json.loads(made.stdout.strip().splitlines()[-1])


def line(row):
    if 'error' in row or 'difference' not in row:
        return f'{row["name"]:34} {row.get("error", "written")}'
    said = f'{row["name"]:34} {"right" if row["right"] else "WRONG"} {row["difference"]:.1e}'
    if 'us' in row:
        said += f'  run {row["us"] / row["xla_us"]:.2f} of {row["xla_us"] / 1e3:.2f} ms  compile {row["compile_ms"] / row["xla_compile_ms"]:.2f} of {row["xla_compile_ms"]:.0f} ms'
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox', default=os.path.join(HERE, '../../target/release/fusebox'), help='the program')
    parser.add_argument('--only', default='*', help='patterns of names, separated by commas')
    parser.add_argument('--rounds', type=int, default=3, help='0: results alone')
    parser.add_argument('--seconds', type=float, default=.5, help='for a round of XLA')
    parser.add_argument('--folder', help='where modules and inputs are kept; else they are removed')
    parser.add_argument('--json', help='what was measured, by name')
    parser.add_argument('--lower', action='store_true')
    parser.add_argument('--report', action='store_true', help='measure nothing')
    parser.add_argument('--table', help='markdown to write')
    parser.add_argument('--plot', help='SVG to write')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    rows = {}
    if options.json and os.path.exists(options.json):
        with open(options.json) as file:
            rows = json.load(file)
    if not options.report:
        import families
        from program import PROGRAMS
        families.load()
        chosen = [name for name in PROGRAMS if any(fnmatch.fnmatch(name, pattern) for pattern in options.only.split(','))]
        if options.list:
            return print(*chosen, sep='\n')
        if options.folder:
            os.makedirs(options.folder, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            for name in chosen:
                rows[name] = measured(name, options.folder or temporary, options)
                print(line(rows[name]), flush=True)
                if options.json:
                    with open(options.json, 'w') as file:
                        json.dump(rows, file, indent=1)
    import report
    print(report.summary(rows.values()))
    if options.table:
        with open(options.table, 'w') as file:
            file.write(report.table(rows.values()))
    if options.plot:
        report.plot(rows.values(), options.plot)
    wrong = [row['name'] for row in rows.values() if not row.get('right') and not options.lower]
    return f'failed or wrong: {", ".join(wrong)}' if wrong else None


if __name__ == '__main__':
    sys.exit(main())
