#!/usr/bin/env python3
"""Times of kernels lowered by MLIR's conversions against kernels written by fusebox.

    lowerings.py --fusebox target/release/fusebox FOLDER | MODULE.hlo … [--pairs N]

`fusebox ab MODULE.hlo --b lowering=mlir` measures both lowerings of each module alternately. A ratio above 1 states that MLIR's
code is slower. If `MODULE.in.npz` lies beside a module, these are its inputs; otherwise they are random. `differ` counts
elements that differ (NaNs are equal), in the program and in each fusion by itself. The last lines have the geometric means.

The machine must have no other load.
"""
import argparse, json, math, os, subprocess, sys


def modules(paths):
    for path in paths:
        if os.path.isdir(path):
            yield from (os.path.join(path, name) for name in sorted(os.listdir(path)) if name.endswith('.hlo'))
        else:
            yield path


def compared(options, path):
    command = [options.fusebox, 'ab', path, '--b', 'lowering=mlir', '--json', '--no-config', '--no-tuned']
    inputs = path.removesuffix('.hlo') + '.in.npz'
    command += ['--inputs', inputs] if os.path.exists(inputs) else []
    command += ['--pairs', str(options.pairs)] if options.pairs else []
    told = subprocess.run(command, capture_output=True, text=True)
    if told.returncode:
        raise ValueError((told.stderr.strip() or 'no message').splitlines()[-1])
    return json.loads(told.stdout)


def differing(comparison):
    return comparison['results']['different']


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox', required=True)
    parser.add_argument('--pairs', type=int, help='pairs of runs per module; default: as many as a verdict needs')
    parser.add_argument('modules', nargs='+')
    options = parser.parse_args()
    run, compile, bytes, different, failed = {}, [], [], [], 0
    print('| program | caches | ratio | interval | verdict | compile | bytes of code | differ |')
    print('| --- | --- | --: | --: | --- | --: | --: | --: |')
    for path in modules(options.modules):
        name = os.path.basename(path).removesuffix('.hlo')
        try:
            report = compared(options, path)
        except Exception as error:
            print(f'{path}: {error}', file=sys.stderr)
            failed += 1
            continue
        program = report['program']
        a, b = program['a'], program['b']
        compile.append(b['compile_ms'] / a['compile_ms'])
        if a['code_bytes']:
            bytes.append(b['code_bytes'] / a['code_bytes'])
        count = sum(map(differing, [program, *report['fusions']]))
        different += [name] * (count > 0)
        for measured in program['measured']:
            ratio = measured['ratio']
            run.setdefault(measured['cache'], []).append(ratio['ratio'])
            interval = f"{ratio['low']:.2f} – {ratio['high']:.2f}"
            size = f'{bytes[-1]:.2f}' if a['code_bytes'] else ''
            print(f"| {name} | {measured['cache']} | {ratio['ratio']:.3f} | {interval} | {measured['verdict']} "
                  f'| {compile[-1]:.2f} | {size} | {count} |', flush=True)
    print()
    for cache, ratios in run.items():
        print(f'{len(ratios)} programs with {cache} caches: {mean(ratios):.3f} in the geometric mean, from {min(ratios):.2f} '
              f'to {max(ratios):.2f}')
    print(f'compile time: {mean(compile):.3f}, bytes of code: {mean(bytes):.3f} in the geometric mean')
    print(f'{len(different)} programs with different elements: {" ".join(different)}' if different else 'all elements are equal')
    sys.exit(1 if failed else 0)


main()
