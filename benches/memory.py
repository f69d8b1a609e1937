#!/usr/bin/env python3
"""Memory of programs against XLA:CPU's, in bytes.

    memory.py --fusebox target/release/fusebox MODULE.hlo …

Both compile the module; nothing is run. Of fusebox `explain --memory --json` says what is needed, of XLA `memory_analysis()` of what
it compiled. Arguments are equal by nature; `written` is results and temporaries, without results that take an argument's
place, and the ratio is that of arguments and `written` together. Constants are left out on both sides. The last line has the
geometric mean and the largest ratio.

Python needs jax.
"""
import argparse, json, math, os, subprocess, sys

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
import jax
from jaxlib import _hlo, _jax

jax.config.update('jax_enable_x64', True)


def of_fusebox(program, path):
    told = subprocess.run([program, 'explain', '--no-config', '--no-tuned', path, '--memory', '--json'], capture_output=True, text=True)
    if told.returncode:
        raise ValueError(told.stderr.strip().splitlines()[-1])
    memory = json.loads(told.stdout)
    return memory['arguments'], memory['outputs'] + memory['temporaries'], memory['waste']


def of_xla(path):
    with open(path) as file:
        module = _hlo.hlo_module_from_text(file.read())
    device = jax.devices('cpu')[0]
    stablehlo = _jax.mlir.hlo_to_stablehlo(module.as_serialized_hlo_module_proto())
    compiled = device.client.compile_and_load(stablehlo, _jax.DeviceList((device,)), _jax.CompileOptions())
    memory = compiled.get_compiled_memory_stats()
    return memory.argument_size_in_bytes, memory.output_size_in_bytes + memory.temp_size_in_bytes - memory.alias_size_in_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox', required=True)
    parser.add_argument('modules', nargs='+')
    options = parser.parse_args()
    ratios = []
    print('| program | arguments | written | of it gaps | XLA: written | ratio |\n| --- | --: | --: | --: | --: | --: |')
    for path in options.modules:
        try:
            (arguments, written, waste), (theirs, xla) = of_fusebox(options.fusebox, path), of_xla(path)
        except Exception as error:
            print(f'{path}: {error}', file=sys.stderr)
            continue
        name = os.path.basename(path).removesuffix('.hlo')
        ratio = (arguments + written) / max(1, theirs + xla)
        ratios.append(ratio)
        print(f'| {name} | {arguments} | {written} | {waste} | {xla} | {ratio:.2f} |', flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f'\n{len(ratios)} programs: {mean:.3f} in the geometric mean, at most {max(ratios):.2f}')


main()
