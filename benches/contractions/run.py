#!/usr/bin/env python3
"""Products, convolutions, transforms and factorisations against XLA:CPU, in one run.

    run.py --fusebox target/release/fusebox                 all cases, three rounds
    run.py --fusebox … --only 'products/*,fft/*'            some of them
    run.py --fusebox … --busy                               products with one core taken by another process, against without
    run.py --list

XLA runs in this process, fusebox in one of its own per round; they alternate. A time is the median of a round, and of the
rounds the least: what other programs on the machine take is no property of either. The last lines give the geometric mean of
fusebox's time over XLA's per group. Products also say which part they reach of what `peak` (a program of this crate)
measures for additions and multiplications in registers, with `--peak GFLOPS`.

Python needs jax; nothing else is read but the programs that are made here.
"""
import argparse, fnmatch, json, math, os, subprocess, sys, tempfile, time

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
os.environ.setdefault('JAX_ENABLE_X64', '1')
import jax, jax.numpy as jnp, numpy as np
from jax import lax

F32, F64, BF16, F16, S8, C64 = (np.dtype(t) for t in (jnp.float32, jnp.float64, jnp.bfloat16, jnp.float16, jnp.int8, jnp.complex64))


class Case:
    """A function of arrays of these shapes and types, and how many operations on real numbers it takes."""

    def __init__(self, name, function, arguments, flops=None, like=None, kind='plain'):
        self.name, self.function, self.arguments, self.flops, self.like, self.kind = name, function, arguments, flops, like, kind

    def values(self):
        made, random = [], np.random.default_rng(1)
        for shape, dtype in self.arguments:
            if dtype == np.int32:
                made.append(random.integers(0, shape[-1], shape).astype(dtype))
            elif dtype.kind == 'i':
                made.append(random.integers(-128, 128, shape).astype(dtype))
            elif dtype.kind == 'c':
                made.append((random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(dtype))
            else:
                made.append(random.standard_normal(shape).astype(dtype))
        if self.kind == 'positive':
            a = made[0]
            made[0] = (a @ np.swapaxes(a, -1, -2) + 2 * a.shape[-1] * np.eye(a.shape[-1])).astype(a.dtype)
        elif self.kind == 'triangular':
            a = made[0]
            made[0] = (np.tril(a) / a.shape[-1] + 2 * np.eye(a.shape[-1])).astype(a.dtype)
        elif self.kind == 'symmetric':
            made[0] = ((made[0] + np.swapaxes(made[0], -1, -2)) / 2).astype(made[0].dtype)
        return made


def product(dtype, result=None):
    wide = dict(preferred_element_type=result) if result is not None else {}
    return lambda a, b: jnp.matmul(a, b, **wide)


def products():
    for m, k, n in ((128,) * 3, (512,) * 3, (1024,) * 3, (2048,) * 3, (4096, 4096, 16), (1, 4096, 4096), (64, 784, 1024)):
        yield Case(f'f32_{m}x{k}x{n}', product(F32), [((m, k), F32), ((k, n), F32)], 2 * m * k * n)
    yield Case('f32_64_of_256x64x256', product(F32), [((64, 256, 64), F32), ((64, 64, 256), F32)], 2 * 64 * 256 * 64 * 256)
    square, cube = ((1024, 1024), F32), 2 * 1024**3
    yield Case('f32_1024_left_turned', lambda a, b: a.T @ b, [square, square], cube)
    yield Case('f32_1024_right_turned', lambda a, b: a @ b.T, [square, square], cube)
    for name, dtype, result in (('bf16_to_bf16', BF16, None), ('bf16_to_f32', BF16, F32), ('f16', F16, None), ('f64', F64, None),
                                ('c64', C64, None), ('s8_to_s32', S8, np.int32)):
        flops = cube * (4 if dtype == C64 else 1)
        yield Case(f'{name}_1024', product(dtype, result), [((1024, 1024), dtype)] * 2, flops)


def fused():
    """Products with something before or after; each against the same product alone."""
    square, cube, like = ((1024, 1024), F32), 2 * 1024**3, 'products/f32_1024x1024x1024'
    gelu = lambda a, b, bias, c: jax.nn.gelu(a @ b + bias) + c
    yield Case('bias_gelu_residual', gelu, [square, square, ((1024,), F32), square], cube, like)
    yield Case('left_turned', lambda a, b: a.T @ b, [square, square], cube, like)
    yield Case('right_turned', lambda a, b: a @ b.T, [square, square], cube, like)
    yield Case('left_converted', lambda a, b: a.astype(F32) @ b, [((1024, 1024), F16), square], cube, like)
    yield Case('right_converted', lambda a, b: a @ b.astype(F32), [square, ((1024, 1024), F16)], cube, like)
    yield Case('left_rows_gathered', lambda a, i, b: a[i] @ b, [square, ((1024,), np.dtype(np.int32)), square], cube, like)


def convolution(strides=(1, 1), padding='SAME', numbers=('NHWC', 'HWIO', 'NHWC'), groups=1):
    return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=numbers, feature_group_count=groups)


def convolutions():
    for name, dtype in (('f32', F32), ('bf16', BF16)):
        image, filters = ((4, 56, 56, 64), dtype), ((3, 3, 64, 64), dtype)
        flops = 2 * 4 * 56 * 56 * 9 * 64 * 64
        plain = convolution()
        yield Case(f'{name}_3x3', plain, [image, filters], flops)
        yield Case(f'{name}_3x3_input_gradient', lambda x, w, y: jax.vjp(lambda x: plain(x, w), x)[1](y)[0], [image, filters, image], flops)
        yield Case(f'{name}_3x3_filter_gradient', lambda x, w, y: jax.vjp(lambda w: plain(x, w), w)[1](y)[0], [image, filters, image], flops)
        yield Case(f'{name}_3x3_nchw', convolution(numbers=('NCHW', 'OIHW', 'NCHW')), [((4, 64, 56, 56), dtype), ((64, 64, 3, 3), dtype)], flops)
        yield Case(f'{name}_7x7_stride_2', convolution((2, 2)), [((1, 224, 224, 3), dtype), ((7, 7, 3, 64), dtype)], 2 * 112 * 112 * 49 * 3 * 64)
        yield Case(f'{name}_1x1', plain, [((4, 56, 56, 256), dtype), ((1, 1, 256, 64), dtype)], 2 * 4 * 56 * 56 * 256 * 64)
        yield Case(f'{name}_depthwise_3x3', convolution(groups=64), [image, ((3, 3, 1, 64), dtype)], 2 * 4 * 56 * 56 * 9 * 64)


def transforms():
    fft = lambda shape, dtype, function: Case(f'{function.__name__}_{"x".join(map(str, shape))}', function, [(shape, dtype)])
    yield fft((1 << 20,), C64, jnp.fft.fft)
    for length in (1024, 1009, 1000):
        yield fft((1024, length), C64, jnp.fft.fft)
    yield fft((1024, 1024), C64, jnp.fft.fft2)
    yield fft((1024, 1024), F32, jnp.fft.rfft)


def factorisations():
    solve = lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True)
    each = (('cholesky', jnp.linalg.cholesky, 'positive'), ('lu', jax.scipy.linalg.lu_factor, 'plain'), ('qr', jnp.linalg.qr, 'plain'),
            ('triangular_solve', solve, 'triangular'), ('eigh', jnp.linalg.eigh, 'symmetric'),
            ('svd', lambda a: jnp.linalg.svd(a, full_matrices=False), 'plain'), ('eig', jnp.linalg.eig, 'plain'))
    for name, dtype in (('f32', F32), ('f64', F64)):
        for shape in ((64, 64), (256, 256), (1024, 1024), (64, 32, 32)):
            for what, function, kind in each:
                if what == 'eig' and (shape[0] == 1024 or len(shape) > 2):
                    continue
                arguments = [(shape, dtype)] * (2 if what == 'triangular_solve' else 1)
                yield Case(f'{what}_{name}_{"x".join(map(str, shape))}', function, arguments, kind=kind)


GROUPS = dict(products=products, fused=fused, convolutions=convolutions, fft=transforms, factorisations=factorisations)


def cases(patterns):
    for group, made in GROUPS.items():
        for case in made():
            case.group, case.name = group, f'{group}/{case.name}'
            if any(fnmatch.fnmatch(case.name, pattern) for pattern in patterns):
                yield case


def of_xla(run, values, seconds):
    """Median seconds of a call, inputs in place."""
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end and len(times) < 5000:
        begin = time.perf_counter()
        jax.block_until_ready(run(*values))
        times.append(time.perf_counter() - begin)
    return float(np.median(times))


def of_fusebox(program, module, inputs):
    """Median seconds of a run, seconds of compilation; or the reason why there are none."""
    made = subprocess.run([program, 'bench', module, '--inputs', inputs, '--json'], capture_output=True, text=True)
    if made.returncode:
        return None, (made.stderr.strip().splitlines() or ['failed'])[0]
    said = json.loads([line for line in made.stdout.splitlines() if line.startswith('{')][-1])
    return said['median_us'] / 1e6, said['compile_ms'] / 1e3


def write(case, folder):
    lowered = jax.jit(case.function, keep_unused=True).lower(*(jax.ShapeDtypeStruct(*a) for a in case.arguments))
    module, inputs = (os.path.join(folder, f'{case.name.replace("/", ".")}.{kind}') for kind in ('hlo', 'npz'))
    with open(module, 'w') as file:
        file.write(lowered.as_text('hlo'))
    raw = {BF16: 'V2'}
    values = case.values()
    np.savez(inputs, **{f'arr_{i}': v.view(raw.get(v.dtype, v.dtype)) for i, v in enumerate(values)})
    begin = time.perf_counter()
    run = lowered.compile()
    return module, inputs, values, run, time.perf_counter() - begin


def mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers)) if numbers else float('nan')


def against_xla(options, chosen):
    ratios, alone = {}, {}
    print(f'{"case":42}{"XLA, ms":>10}{"here, ms":>10}{"ratio":>8}{"GFLOP/s":>9}{"compile, ms":>13}{"ratio":>7}')
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            module, inputs, values, run, compiled = write(case, folder)
            placed = [jax.device_put(value) for value in values]
            rounds = []
            for _ in range(options.rounds):
                rounds.append((of_xla(run, placed, options.seconds), *of_fusebox(options.fusebox, module, inputs)))
            if rounds[0][1] is None:
                print(f'{case.name:42}  {rounds[0][2]}')
                continue
            xla, here, compile_here = (min(column) for column in zip(*rounds))
            alone[case.name] = here
            ratio, note = here / xla, ''
            ratios.setdefault(case.group, []).append(ratio)
            ratios.setdefault(f'{case.group}, compile', []).append(compile_here / compiled)
            speed = case.flops / here / 1e9 if case.flops else 0
            if options.peak and case.flops:
                note += f'  {100 * speed / options.peak:.0f} % of the peak'
            if case.like in alone:
                note += f'  {here / alone[case.like]:.2f} of the product alone'
            print(f'{case.name:42}{1e3 * xla:10.3f}{1e3 * here:10.3f}{ratio:8.2f}{speed:9.0f}{1e3 * compile_here:13.0f}{compile_here / compiled:7.2f}{note}', flush=True)
    for group, found in ratios.items():
        print(f'{group}: {mean(found):.3f} in the mean of {len(found)}, at most {max(found):.2f}')


def with_a_core_taken(options, chosen):
    worst = 0
    taken = [sys.executable, '-c', 'import os\nos.sched_setaffinity(0, {0})\nwhile True: pass']
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            module, inputs, *_ = write(case, folder)
            alone, beside = [], []
            for _ in range(options.rounds):
                alone.append(of_fusebox(options.fusebox, module, inputs)[0])
                other = subprocess.Popen(taken)
                beside.append(of_fusebox(options.fusebox, module, inputs)[0])
                other.kill()
                other.wait()
            if None in alone + beside:
                print(f'{case.name:42}  failed')
                continue
            ratio = min(beside) / min(alone)
            worst = max(worst, ratio)
            print(f'{case.name:42}{1e3 * min(alone):10.3f}{1e3 * min(beside):10.3f}{ratio:8.2f}', flush=True)
    print(f'with a core taken by another process, at most {worst:.2f} of the time without')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox', default='target/release/fusebox', help='the program')
    parser.add_argument('--only', default='*', help='patterns of case names, separated by commas')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=0.5, help='for a round of XLA')
    parser.add_argument('--peak', type=float, help='GFLOP/s of f32 that `peak` measured')
    parser.add_argument('--busy', action='store_true', help='products with and without another process on one core')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_args()
    chosen = cases(options.only.split(','))
    if options.list:
        print(*(case.name for case in chosen), sep='\n')
    elif options.busy:
        with_a_core_taken(options, (case for case in chosen if case.group == 'products'))
    else:
        against_xla(options, chosen)


if __name__ == '__main__':
    main()
