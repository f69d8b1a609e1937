#!/usr/bin/env python3
"""Small operations against XLA:CPU without AVX-512: run time, and compile time of single products and convolutions.

    run.py --fusebox target/release/fusebox                 all cases, five rounds
    run.py --fusebox … --only 'run/*,compile/dot_*'         some of them
    run.py --fusebox … --widest                             with the widest vectors of the processor, on both sides
    run.py --fusebox … --base OTHER --only 'routine/*'      against another build of fusebox instead of XLA
    run.py --list

Without --widest, both sides run as on a processor with AVX2, on x86-64 with Linux: `cargo build --release -p without-avx512` makes
the library that is preloaded for this. An option of XLA would not do, as libraries of XLA ask the processor themselves.

The cases `run/*` are operations that XLA computes fast and that fusebox once computed slowly. The cases `compile/*` are single
products and convolutions of many shapes, and other programs for which XLA calls a library instead of compiling code. The cases
`routine/*` are sorts, Fourier transforms, factorisations and products; for most of their work both sides call libraries. Each
measurement of either side is a new process; the sides alternate. A time is the least of the rounds: run time the least of the
medians, compile time the least of the first compilations of a process. fusebox's compile time includes reading HLO text, XLA's
begins with StableHLO in memory. Results are compared, each relative to its largest number; signs of eigenvectors and singular
vectors may differ.

Python needs jax; nothing else is read but the programs that are made here.
"""
import argparse, fnmatch, json, math, os, subprocess, sys, tempfile, time

os.environ.setdefault('JAX_PLATFORMS', 'cpu')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
import jax, jax.numpy as jnp, numpy as np
from jax import lax

CASES = {}


def case(name, function, *shapes):
    """Adds a case. A shape stands for an array of f32; a function of a generator makes any other argument."""
    CASES[name] = (function, shapes)


def arguments(name):
    random = np.random.default_rng(1)
    make = lambda shape: shape(random) if callable(shape) else random.standard_normal(shape).astype(np.float32)
    return [make(shape) for shape in CASES[name][1]]


def integers(most, *shape):
    return lambda random: random.integers(0, most, shape).astype(np.int32)


def doubles(*shape):
    return lambda random: random.standard_normal(shape)


def complexes(*shape):
    return lambda random: (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(np.complex64)


def positive(*shape, dtype=np.float32):
    """Makes symmetric matrices whose eigenvalues are positive."""
    def make(random):
        a = random.standard_normal(shape)
        return (a @ np.swapaxes(a, -1, -2) / shape[-1] + np.eye(shape[-1])).astype(dtype)
    return make


def edit_distance(a, b):
    """The number of changes that turn one sequence into another: a scan over rows of a scan over columns."""
    def row(before, letter):
        def element(left, column):
            above, diagonal, other = column
            new = jnp.minimum(jnp.minimum(above, left) + 1, diagonal + (other != letter))
            return new, new
        first = before[0] + 1
        _, rest = lax.scan(element, first, (before[1:], before[:-1], b))
        return jnp.concatenate([first[None], rest]), None
    return lax.scan(row, jnp.arange(len(b) + 1, dtype=jnp.int32), a)[0][-1]


def shifted_rows(a, b):
    """The edit distance by anti-diagonals: each step slices and pads three rows."""
    n = len(a)
    def step(rows, k):
        before, last = rows
        shifted = jnp.pad(last[:-1], (1, 0), constant_values=1 << 20)
        corner = jnp.pad(before[:-1], (1, 0), constant_values=1 << 20)
        differs = jnp.pad(a[1:] != lax.dynamic_slice(b, (k % n,), (n,))[:-1], (1, 0)).astype(jnp.int32)
        return (last, jnp.minimum(jnp.minimum(shifted, last) + 1, corner + differs)), None
    start = jnp.arange(n, dtype=jnp.int32)
    return lax.scan(step, (start, start), jnp.arange(n))[0][1]


def selects(x):
    """300 selects in a row whose predicates are comparisons of the operand."""
    y = x
    for k in range(300):
        y = jnp.where(x > k / 100 - 1.5, y * 0.99, y + 0.01)
    return y


def window(x, size, by):
    return lax.reduce_window(x, -jnp.inf if by is lax.max else jnp.inf, by, (1, size, size, 1), (1, 1, 1, 1), 'SAME')


def convolution(x, k, strides=(1, 1), padding='SAME', **more):
    return lax.conv_general_dilated(x, k, strides, padding, dimension_numbers=('NHWC', 'HWIO', 'NHWC'), **more)


def transposed(x, k):
    return lax.conv_transpose(x, k, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


def line_convolution(x, k):
    return lax.conv_general_dilated(x, k, (1,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC'))


for size in (5, 6, 8, 10, 12, 16, 20, 24):
    case(f'run/argmax_rows_of_{size}', lambda x: jnp.argmax(x, 1), (1 << 17, size))
case('run/argmin_rows_of_10', lambda x: jnp.argmin(x, 1), (1 << 17, 10))
case('run/argmax_rows_of_10_f64', lambda x: jnp.argmax(x, 1), doubles(1 << 17, 10))
for size in (5, 6, 7):
    case(f'run/max_rows_of_{size}', lambda x: jnp.max(x, 1), (1 << 17, size))
case('run/kron_40', jnp.kron, (40, 40), (40, 40))
case('run/row_outer_7x9', lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(-1, 63), (20_000, 7), (20_000, 9))
for size in (3, 5, 7):
    case(f'run/windows_of_{size}', lambda x, at, size=size: x[at[:, None] + jnp.arange(size)], (100_000,), integers(99_000, 50_000))
case('run/patches_5x5', lambda x: lax.conv_general_dilated_patches(x, (5, 5), (1, 1), 'SAME'), (1, 3, 96, 96))
case('run/edit_distance_100', edit_distance, integers(4, 100), integers(4, 100))
case('run/shifted_rows_300', shifted_rows, integers(4, 300), integers(4, 600))
case('run/block_matrix', lambda a, b, c, d: jnp.block([[a, b], [c, jnp.block([[d, d], [d, d]])]]), (300, 300), (300, 200), (200, 300), (100, 100))
for size in (143, 187, 1001):
    case(f'run/rfft_{size}', lambda x: jnp.fft.rfft(x), (500, size))
case('run/select_chain_300', selects, (10_000,))
case('run/scan_matvec_64', lambda w, x: lax.fori_loop(0, 500, lambda _, x: jnp.tanh(w @ x / 16), x), (64, 64), (64,))
case('run/row_times_wide_matrix', lambda x, w: x @ w, (1, 512), (512, 10_000))
case('run/matvec_4096', lambda w, x: w @ x, (4096, 4096), (4096,))
case('run/scatter_add_2d', lambda x, at, v: x.at[at[:, 0], at[:, 1]].add(v), (300, 300), integers(300, 20_000, 2), (20_000,))
case('run/scatter_add_patches', lambda x, at, v: x.at[at].add(v), (4_000, 3), integers(4_000, 20_000), (20_000, 3))

for rows, steps, columns in ((128, 128, 128), (512, 512, 512), (16, 256, 1024), (1000, 10, 1000), (64, 2048, 64), (7, 100, 13), (1, 256, 256), (256, 256, 1)):
    case(f'compile/dot_{rows}x{steps}x{columns}', jnp.dot, (rows, steps), (steps, columns))
for batch, size in ((8, 64), (100, 8), (32, 128)):
    case(f'compile/batched_dot_{batch}_of_{size}', jnp.matmul, (batch, size, size), (batch, size, size))
case('compile/attention_scores', lambda q, k: jnp.einsum('bqhd,bkhd->bhqk', q, k), (2, 128, 8, 64), (2, 128, 8, 64))
case('compile/dot_turned', lambda a, b: a.T @ b.T, (200, 300), (100, 200))
case('compile/matrix_by_vector_1000', jnp.dot, (1000, 1000), (1000,))
case('compile/vector_by_matrix_1000', jnp.dot, (1000,), (1000, 1000))
case('compile/vector_by_vector_100000', jnp.dot, (100_000,), (100_000,))
case('compile/conv_1d_3', line_convolution, (4, 256, 64), (3, 64, 64))
case('compile/conv_1d_9', line_convolution, (1, 4000, 1), (9, 1, 16))
case('compile/conv_3x3', convolution, (2, 28, 28, 64), (3, 3, 64, 64))
case('compile/conv_1x1', convolution, (2, 28, 28, 64), (1, 1, 64, 128))
case('compile/conv_7x7_stride_2', lambda x, k: convolution(x, k, (2, 2)), (1, 112, 112, 3), (7, 7, 3, 64))
case('compile/conv_3x3_dilated', lambda x, k: convolution(x, k, rhs_dilation=(2, 2)), (2, 28, 28, 32), (3, 3, 32, 32))
case('compile/conv_depthwise_3x3', lambda x, k: convolution(x, k, feature_group_count=64), (2, 28, 28, 64), (3, 3, 1, 64))
case('compile/conv_groups_4', lambda x, k: convolution(x, k, feature_group_count=4), (2, 28, 28, 64), (3, 3, 16, 64))
case('compile/conv_transpose_4x4', transposed, (2, 28, 28, 64), (4, 4, 64, 32))
case('compile/conv_transpose_3x3', transposed, (2, 28, 28, 16), (3, 3, 16, 16))
case('compile/conv_filter_gradient', jax.grad(lambda k, x: jnp.sum(convolution(x, k) ** 2)), (3, 3, 16, 16), (2, 28, 28, 16))
case('compile/sums_of_three_pairs', lambda a: (jnp.sum(a, (1, 2)), jnp.sum(a, (0, 2)), jnp.sum(a, (0, 1))), (100, 120, 110))
case('compile/column_sums', lambda a: jnp.sum(a, 0), (1000, 1000))
case('compile/softmax', lambda a: jax.nn.softmax(a, -1), (512, 512))
case('compile/minimum_of_5x5', lambda x: window(x, 5, lax.min), (1, 64, 64, 8))
case('compile/n_body', lambda p: jnp.sum((p[None] - p[:, None]) / (1e-3 + jnp.sum((p[None] - p[:, None]) ** 2, -1, keepdims=True)) ** 1.5, 1), (200, 3))
case('compile/reversed_rows', lambda x: x[::-1] + x[:, ::-1] * 2 + jnp.flip(x), (10, 10))

case('routine/cholesky_400', jnp.linalg.cholesky, positive(400, 400))
case('routine/cholesky_1000_f64', jnp.linalg.cholesky, positive(1000, 1000, dtype=np.float64))
case('routine/cholesky_200_of_30', jnp.linalg.cholesky, positive(200, 30, 30))
case('routine/lu_400', jax.scipy.linalg.lu, (400, 400))
case('routine/solve_200', jnp.linalg.solve, (200, 200), (200, 50))
case('routine/solve_100_of_20_f64', jnp.linalg.solve, doubles(100, 20, 20), doubles(100, 20, 3))
case('routine/inverse_300_c64', jnp.linalg.inv, complexes(300, 300))
for size, columns in ((200, 16), (200, 200), (500, 100), (1000, 1000)):
    case(f'routine/triangular_{size}_{columns}', lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), positive(size, size), (size, columns))
case('routine/qr_400', jnp.linalg.qr, (400, 400))
case('routine/qr_1000x50_f64', jnp.linalg.qr, doubles(1000, 50))
case('routine/qr_100_of_20', jnp.linalg.qr, (100, 20, 20))
case('routine/svd_30_of_20', lambda a: jnp.linalg.svd(a, full_matrices=False), (30, 20, 20))
for size in (100, 300):
    case(f'routine/svd_{size}', lambda a: jnp.linalg.svd(a, full_matrices=False), (size, size))
case('routine/svd_200_f64', jnp.linalg.svd, doubles(200, 200))
case('routine/svd_120_c64', jnp.linalg.svd, complexes(120, 120))
case('routine/svd_values_500x100', lambda a: jnp.linalg.svd(a, compute_uv=False), (500, 100))
case('routine/eigh_50_of_20', jnp.linalg.eigh, positive(50, 20, 20))
for size in (100, 400):
    case(f'routine/eigh_{size}', jnp.linalg.eigh, positive(size, size))
case('routine/eigh_200_f64', jnp.linalg.eigh, positive(200, 200, dtype=np.float64))
case('routine/eigh_values_300', jnp.linalg.eigvalsh, positive(300, 300))
case('routine/eig_100', jnp.linalg.eig, (100, 100))
case('routine/eig_60_c64', jnp.linalg.eig, complexes(60, 60))
case('routine/sort_100000', jnp.sort, (100_000,))
case('routine/sort_1000_of_1000', jnp.sort, (1000, 1000))
case('routine/argsort_100000', jnp.argsort, (100_000,))
case('routine/top_20_of_10000', lambda x: lax.top_k(x, 20), (50, 10_000))
for size in (60, 1009, 4096):
    case(f'routine/fft_{size}_c64', jnp.fft.fft, complexes(300, size))
case('routine/rfft_1000_f64', jnp.fft.rfft, doubles(300, 1000))
case('routine/irfft_2048', lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), (300, 2048))
case('routine/fft_100x100x20', lambda x: jnp.fft.fftn(x), complexes(100, 100, 20))
case('routine/dot_512', jnp.dot, (512, 512), (512, 512))
case('routine/dot_300_f64', jnp.dot, doubles(300, 300), doubles(300, 300))
case('routine/dot_256_c64', jnp.dot, complexes(256, 256), complexes(256, 256))
case('routine/dot_20_of_100_c64', jnp.matmul, complexes(20, 100, 100), complexes(20, 100, 100))


def of_xla(name, seconds=0.3):
    """Measures a case in this process: first compilation in ms, median of runs in us."""
    function, values = CASES[name][0], arguments(name)
    lowered = jax.jit(function).lower(*values)
    values = [jnp.asarray(value) for value in values]
    start = time.perf_counter()
    compiled = lowered.compile()
    compile_ms = (time.perf_counter() - start) * 1e3
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        jax.block_until_ready(compiled(*values))
        times.append(time.perf_counter() - start)
    return {'compile_ms': compile_ms, 'median_us': sorted(times)[len(times) // 2] * 1e6}


class Measured:
    """A case with its program in a folder, and the times of both sides."""

    def __init__(self, name, folder, fusebox, base, environment):
        self.name, self.values = name, arguments(name)
        files = os.path.join(folder, name.replace('/', '.'))
        self.module, self.inputs, self.outputs = (f'{files}.{kind}' for kind in ('hlo', 'in.npz', 'out.npz'))
        with open(self.module, 'w') as file:
            file.write(jax.jit(CASES[name][0]).lower(*self.values).as_text('hlo'))
        np.savez(self.inputs, **{f'arr_{i}': value for i, value in enumerate(self.values)})
        self.options = ['--target', 'cpu', '--no-tuned', '--no-cache', '--no-config', '--inputs', self.inputs]
        self.fusebox, self.environment = fusebox, environment
        self.base = self.bench(base) if base else [sys.executable, __file__, '--xla', name]
        self.ours, self.others = [], []

    def bench(self, program):
        return [program, 'bench', self.module, *self.options, '--json']

    def difference(self):
        command = [self.fusebox, 'run', self.module, *self.options, '--outputs', self.outputs]
        subprocess.run(command, check=True, capture_output=True)
        results, worst = np.load(self.outputs), 0.0
        for i, expected in enumerate(jax.tree.leaves(jax.jit(CASES[self.name][0])(*self.values))):
            expected, got = np.asarray(expected).astype(np.complex128), results[f'arr_{i}'].astype(np.complex128)
            worst = max(worst, np.max(np.abs(got - expected)) / max(np.max(np.abs(expected)), 1e-30))
        return worst

    def round(self):
        for command, times in ((self.bench(self.fusebox), self.ours), (self.base, self.others)):
            line = subprocess.run(command, check=True, capture_output=True, text=True, env=self.environment).stdout
            times.append(json.loads(line.splitlines()[-1]))

    def least(self, what):
        return tuple(min(side[what] for side in sides) for sides in (self.others, self.ours))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--fusebox')
    parser.add_argument('--base', help='another build of fusebox, against which to measure instead of XLA')
    parser.add_argument('--only', default='*', help='names, with *, separated by commas')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--widest', action='store_true')
    parser.add_argument('--list', action='store_true')
    parser.add_argument('--xla', help=argparse.SUPPRESS)
    options = parser.parse_args()
    jax.config.update('jax_enable_x64', any(callable(shape) for shape in CASES.get(options.xla, ((), ()))[1]))
    if options.xla:
        print(json.dumps(of_xla(options.xla)))
        return
    chosen = [name for name in CASES if any(fnmatch.fnmatch(name, only) for only in options.only.split(','))]
    if options.list or not options.fusebox:
        print('\n'.join(chosen))
        return
    environment = dict(os.environ)
    if not options.widest:
        library = os.path.join(os.path.dirname(__file__), '../../target/release/libwithout_avx512.so')
        if not os.path.exists(library):
            sys.exit(f'{library} is missing: cargo build --release -p without-avx512, or --widest')
        environment['LD_PRELOAD'] = os.path.realpath(library)
    ratios = {'run': [], 'compile': [], 'routine': []}
    other = 'base' if options.base else 'XLA'
    print(f'{"":32} {f"{other} us":>9} {"us":>9} {"run":>6} {f"{other} ms":>8} {"ms":>8} {"compile":>8}  difference')
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            jax.config.update('jax_enable_x64', any(callable(shape) for shape in CASES[name][1]))
            measured = Measured(name, folder, options.fusebox, options.base, environment)
            difference = measured.difference()
            for _ in range(options.rounds):
                measured.round()
            (others, ours), (others_ms, ours_ms) = measured.least('median_us'), measured.least('compile_ms')
            run, compile = ours / others, ours_ms / others_ms
            ratios[name.split('/')[0]].append(compile if name.startswith('compile/') else run)
            print(f'{name:32} {others:9.1f} {ours:9.1f} {run:6.2f} {others_ms:8.1f} {ours_ms:8.1f} {compile:8.2f}  {difference:.1e}', flush=True)
    for what, limit in (('run', 1.1), ('compile', 1.5), ('routine', 1.1)):
        of = ratios[what]
        if of:
            mean = math.exp(sum(map(math.log, of)) / len(of))
            print(f'{what}: geometric mean {mean:.2f}, at most {max(of):.2f}, {sum(ratio <= limit for ratio in of)} of {len(of)} at most {limit}')


if __name__ == '__main__':
    main()
