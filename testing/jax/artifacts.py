#!/usr/bin/env python3
"""Compares what fusebox reads from the forms of JAX programs: portable artifacts of several versions, and text in JAX's syntax,
with locations, and in MLIR's generic form. All forms of an artifact must give equal HLO modules. The text that JAX prints, which
has the same constants several times, must give a module that differs only in this.

    artifacts.py [--folder FOLDER]      needs jax 0.10.2; builds the example `forms` of host/stablehlo with cargo

Prints the number of programs and of artifacts, and every difference; fails if there is one, or if there are less than 500
programs. A version in which JAX cannot write a program is counted, and is no fault.
"""
import argparse
import collections
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ.setdefault('XLA_FLAGS', '--xla_force_host_platform_device_count=4')

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax import lax
from jax._src.lib import _jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The current version, the one that plugins get, the one of jax.export, and the oldest that can be written.
VERSIONS = ['1.17.0', '1.15.0', '1.13.7', '1.0.0', '0.9.0']
FLOATS = ['float32', 'float64', 'bfloat16', 'float16']
INTEGERS = ['int8', 'int32', 'int64', 'uint8', 'uint32']


def of(shape=(4, 6), dtype='float32'):
    return jax.ShapeDtypeStruct(shape, dtype)


def programs():
    """Returns the programs: names, functions and arguments."""
    yield from elementwise()
    yield from arrays()
    yield from library()
    yield from transformed()
    yield from control()
    yield from several_devices()


def elementwise():
    unary = ['abs', 'acos', 'acosh', 'asin', 'asinh', 'atan', 'atanh', 'cbrt', 'ceil', 'cos', 'cosh', 'digamma', 'erf', 'erf_inv',
             'erfc', 'exp', 'exp2', 'expm1', 'floor', 'is_finite', 'lgamma', 'log', 'log1p', 'logistic', 'neg', 'round', 'rsqrt',
             'sign', 'sin', 'sinh', 'sqrt', 'square', 'tan', 'tanh', 'bessel_i0e', 'bessel_i1e']
    for name in unary:
        for dtype in FLOATS:
            yield f'{name}_{dtype}', getattr(lax, name), [of(dtype=dtype)]
    for name in ['abs', 'cos', 'exp', 'log', 'neg', 'sin', 'sqrt', 'tanh', 'conj', 'real', 'imag', 'sign', 'log1p', 'expm1']:
        yield f'{name}_complex64', getattr(lax, name), [of(dtype='complex64')]
    for name in ['abs', 'neg', 'sign', 'bitwise_not', 'population_count', 'clz']:
        for dtype in INTEGERS:
            yield f'{name}_{dtype}', getattr(lax, name), [of(dtype=dtype)]
    for name in ['add', 'sub', 'mul', 'div', 'max', 'min', 'pow', 'rem', 'eq', 'ne', 'lt', 'le', 'gt', 'ge']:
        for dtype in ['float32', 'bfloat16', 'int32', 'uint8']:
            if not (name == 'pow' and dtype in ('int32', 'uint8')):
                yield f'{name}_{dtype}', getattr(lax, name), [of(dtype=dtype)] * 2
    for name in ['atan2', 'nextafter', 'igamma', 'igammac', 'zeta', 'polygamma', 'complex', 'random_gamma_grad']:
        yield f'{name}_float32', getattr(lax, name), [of()] * 2
    for name in ['bitwise_and', 'bitwise_or', 'bitwise_xor', 'shift_left', 'shift_right_logical', 'shift_right_arithmetic', 'mulhi']:
        for dtype in ['int32', 'uint8']:
            yield f'{name}_{dtype}', getattr(lax, name), [of(dtype=dtype)] * 2
    types = FLOATS + INTEGERS + ['bool', 'complex64', 'float8_e4m3fn', 'float8_e5m2', 'float8_e4m3b11fnuz', 'int4', 'uint4', 'int2']
    for dtype in types:
        yield f'to_{dtype}', lambda a, dtype=dtype: a.astype(dtype), [of()]
        yield f'constant_{dtype}', lambda dtype=dtype: jnp.array([[1, 0, 1], [0, 1, 1]]).astype(dtype), []
    yield 'bitcast', lambda a: lax.bitcast_convert_type(a, 'uint8'), [of()]
    yield 'reduce_precision', lambda a: lax.reduce_precision(a, 5, 10), [of()]
    yield 'clamp', lambda a: lax.clamp(0., a, 1.), [of()]
    yield 'select', lambda p, a, b: lax.select(p, a, b), [of(dtype='bool'), of(), of()]
    yield 'special_constants', lambda: np.array([np.inf, -np.inf, np.nan, -0., 1e-40, 0.1], np.float32) * jnp.ones(6), []
    yield 'large_constant', lambda a: a + np.arange(2400, dtype=np.float32).reshape(100, 24), [of((100, 24))]
    yield 'large_flags', lambda a: a & (np.arange(500) % 3 == 0), [of((500,), 'bool')]
    yield 'empty', lambda a: (a[:0], jnp.zeros((0, 3))), [of()]


def arrays():
    for axis in (None, 0, 1, (0, 1)):
        for name in ['sum', 'prod', 'max', 'min', 'mean', 'var', 'std', 'any', 'all', 'argmax', 'argmin', 'median', 'ptp', 'nanmax']:
            if not (name.startswith('arg') and isinstance(axis, tuple)):
                yield f'{name}_axis_{axis}'.replace(' ', ''), functools.partial(getattr(jnp, name), axis=axis), [of()]
    for name in ['cumsum', 'cumprod', 'cummax', 'cummin', 'cumlogsumexp']:
        for reverse in (False, True):
            yield f'{name}_{reverse}', functools.partial(getattr(lax, name), axis=1, reverse=reverse), [of()]
    for name in ['fliplr', 'flipud', 'transpose', 'ravel', 'diag', 'tril', 'triu', 'sort', 'argsort', 'unique_values', 'rot90', 'trace',
                 'nan_to_num', 'diff', 'ediff1d', 'atleast_3d', 'squeeze', 'gradient', 'cov', 'corrcoef']:
        function = functools.partial(jnp.unique, size=5) if name == 'unique_values' else getattr(jnp, name)
        yield f'numpy_{name}', function, [of()]
    for name in ['dot', 'matmul', 'inner', 'outer', 'kron', 'vdot', 'cross', 'hypot', 'logaddexp', 'logaddexp2', 'floor_divide', 'fmod',
                 'divmod', 'copysign', 'heaviside', 'ldexp', 'gcd', 'lcm', 'convolve', 'correlate', 'polyval', 'append', 'vstack', 'hstack',
                 'digitize', 'searchsorted', 'isin', 'union1d_like', 'interp3', 'tensordot']:
        shape = {'cross': (4, 3), 'convolve': (6,), 'correlate': (6,), 'polyval': (4,), 'digitize': (6,), 'searchsorted': (6,)}.get(name, (6, 6))
        if name in ('gcd', 'lcm', 'ldexp'):
            types = [of(shape, 'int32' if name != 'ldexp' else 'float32'), of(shape, 'int32')]
        else:
            types = [of(shape)] * 2
        special = {'union1d_like': lambda a, b: jnp.union1d(a, b, size=4), 'interp3': lambda a, b: jnp.interp(a[0], a[1], b[0]),
                   'vstack': lambda a, b: jnp.vstack([a, b]), 'hstack': lambda a, b: jnp.hstack([a, b])}
        yield f'numpy_{name}', special.get(name) or getattr(jnp, name), types
    for spec in ['ij,jk->ik', 'ij,kj->ik', 'bij,bjk->bik', 'ij->ji', 'ii->i', 'ij,ij->', 'i,j->ij', 'bqhd,bkhd->bhqk']:
        left, right = spec.split('->')[0].split(',') + ([] if ',' in spec else [None]) if ',' in spec else (spec.split('->')[0], None)
        types = [of((4,) * len(part)) for part in (left, right) if part]
        yield 'einsum_' + spec.replace(',', '_').replace('->', '_to_'), functools.partial(jnp.einsum, spec), types
    for precision in ['default', 'high', 'highest', 'BF16_BF16_F32_X3', 'F32_F32_F32', 'TF32_TF32_F32']:
        yield f'dot_{precision}', functools.partial(jnp.dot, precision=precision), [of((4, 4))] * 2
    yield 'dot_wider', functools.partial(jnp.dot, preferred_element_type='float32'), [of((4, 4), 'bfloat16')] * 2
    for strides, padding, dilation in [((1, 1), 'SAME', (1, 1)), ((2, 1), 'VALID', (1, 2)), ((1, 1), ((1, 0), (0, 2)), (1, 1))]:
        yield f'conv_{strides}_{padding}'.replace(' ', ''), functools.partial(
            lax.conv_general_dilated, window_strides=strides, padding=padding, rhs_dilation=dilation), [of((1, 3, 8, 8)), of((4, 3, 3, 3))]
    yield 'conv_groups', functools.partial(lax.conv_general_dilated, window_strides=(1, 1), padding='SAME', feature_group_count=2,
                                           dimension_numbers=('NHWC', 'HWIO', 'NHWC')), [of((2, 5, 5, 4)), of((3, 3, 2, 6))]
    yield 'conv_transposed', lambda a, k: lax.conv_transpose(a, k, (2, 2), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC')), [
        of((2, 5, 5, 4)), of((3, 3, 4, 6))]
    for name, initial, operation in [('max', -np.inf, lax.max), ('sum', 0., lax.add)]:
        yield f'window_{name}', lambda a, initial=initial, operation=operation: lax.reduce_window(
            a, initial, operation, (1, 2), (1, 2), 'VALID', window_dilation=(1, 2)), [of((4, 12))]
    indices = of((3,), 'int32')
    yield 'gather', lambda a, i: a[i], [of(), indices]
    yield 'gather_columns', lambda a, i: a[:, i], [of(), indices]
    yield 'gather_pairs', lambda a, i: a[i, i], [of(), indices]
    yield 'take_along', lambda a, i: jnp.take_along_axis(a, i, 1), [of(), of((4, 2), 'int32')]
    for name in ['set', 'add', 'multiply', 'min', 'max', 'apply']:
        yield f'scatter_{name}', lambda a, i, name=name: getattr(a.at[i], name)(jnp.sin if name == 'apply' else 2.), [of(), indices]
    yield 'slice', lambda a: a[1:, ::2], [of()]
    yield 'dynamic_slice', lambda a, i: lax.dynamic_slice(a, (i, 1), (2, 3)), [of(), of((), 'int32')]
    yield 'dynamic_update', lambda a, i: lax.dynamic_update_slice(a, a[:2, :2], (i, 1)), [of(), of((), 'int32')]
    yield 'pad', lambda a: lax.pad(a, 7., ((1, 2, 1), (-1, 0, 0))), [of()]
    yield 'iota', lambda: lax.broadcasted_iota('int32', (3, 4), 1), []
    yield 'concatenate', lambda a, b: lax.concatenate([a, b], 1), [of(), of()]
    yield 'broadcast', lambda a: lax.broadcast_in_dim(a, (4, 2, 6), (0, 2)), [of()]
    yield 'expand', lambda a: a[:, :1] + jnp.zeros((4, 6)), [of()]
    yield 'top_k', lambda a: lax.top_k(a, 2), [of()]
    yield 'approx_max_k', lambda a: lax.approx_max_k(a, 2), [of()]
    yield 'sort_several', lambda a, b: lax.sort((a, b), num_keys=2), [of(), of()]
    yield 'bincount', lambda a: jnp.bincount(a, length=5), [of((7,), 'int32')]
    yield 'histogram', lambda a: jnp.histogram(a, 4), [of((9,))]
    yield 'ragged_dot', lax.ragged_dot, [of((6, 4)), of((2, 4, 5)), of((2,), 'int32')]
    yield 'barrier', lambda a, b: lax.optimization_barrier((a, b)), [of(), of()]


def library():
    square = of((4, 4))
    for name in ['relu', 'relu6', 'sigmoid', 'softplus', 'silu', 'gelu', 'elu', 'selu', 'celu', 'glu', 'softmax', 'log_softmax', 'logsumexp',
                 'standardize', 'soft_sign', 'hard_tanh', 'hard_sigmoid', 'mish', 'squareplus', 'leaky_relu', 'log_sigmoid', 'sparse_plus']:
        yield f'nn_{name}', getattr(jax.nn, name), [of()]
    yield 'one_hot', lambda i: jax.nn.one_hot(i, 5), [of((4,), 'int32')]
    yield 'attention', jax.nn.dot_product_attention, [of((1, 4, 2, 8))] * 3
    for name in ['i0', 'i0e', 'i1', 'i1e', 'expit', 'logit', 'ndtr', 'ndtri', 'gammaln', 'digamma', 'erf', 'erfc', 'erfinv', 'entr', 'exp1',
                 'factorial', 'spence', 'bernoulli_like', 'log_ndtr', 'gamma']:
        if name != 'bernoulli_like':
            yield f'special_{name}', getattr(jsp.special, name), [of()]
    for name in ['beta', 'betaln', 'xlogy', 'xlog1py', 'gammainc', 'gammaincc', 'kl_div', 'rel_entr', 'zeta', 'poch', 'binom']:
        if hasattr(jsp.special, name):
            yield f'special_{name}', getattr(jsp.special, name), [of(), of()]
    yield 'betainc', jsp.special.betainc, [of()] * 3
    for name in ['norm', 'expon', 'laplace', 'logistic', 'cauchy', 'uniform']:
        for function in ['logpdf', 'pdf', 'cdf']:
            yield f'stats_{name}_{function}', getattr(getattr(jsp.stats, name), function), [of()]
    for name in ['cholesky', 'qr', 'svd', 'eigh', 'eig', 'inv', 'det', 'slogdet', 'pinv', 'matrix_rank', 'norm', 'eigvalsh']:
        yield f'linalg_{name}', getattr(jnp.linalg, name), [square]
    yield 'solve', jnp.linalg.solve, [square, square]
    yield 'lstsq', lambda a, b: jnp.linalg.lstsq(a, b), [of((5, 3)), of((5,))]
    yield 'triangular', lambda a, b: jsp.linalg.solve_triangular(a, b, trans=1, lower=True), [square, square]
    for name in ['expm', 'lu', 'schur', 'sqrtm', 'hessenberg', 'polar']:
        yield f'linalg_{name}', getattr(jsp.linalg, name), [square]
    for name in ['fft', 'ifft', 'rfft', 'fft2', 'fftn', 'hfft', 'fftshift']:
        yield f'fft_{name}', getattr(jnp.fft, name), [of()]
    yield 'irfft', jnp.fft.irfft, [of(dtype='complex64')]
    key = lambda: jax.ShapeDtypeStruct((2,), 'uint32')
    for name in ['normal', 'uniform', 'gumbel', 'exponential', 'laplace', 'logistic', 'cauchy', 'rademacher', 'bits', 'truncated', 'gamma',
                 'beta', 'poisson', 'dirichlet', 'student', 'categorical', 'permutation', 'choice', 'randint', 'bernoulli', 'ball', 'maxwell']:
        calls = {'truncated': lambda k: jax.random.truncated_normal(k, -1, 1, (3,)), 'gamma': lambda k: jax.random.gamma(k, 2., (3,)),
                 'beta': lambda k: jax.random.beta(k, 2., 3., (3,)), 'poisson': lambda k: jax.random.poisson(k, 3., (3,)),
                 'dirichlet': lambda k: jax.random.dirichlet(k, jnp.ones(3)), 'student': lambda k: jax.random.t(k, 3., (3,)),
                 'categorical': lambda k: jax.random.categorical(k, jnp.ones(3)), 'permutation': lambda k: jax.random.permutation(k, 9),
                 'choice': lambda k: jax.random.choice(k, 9, (3,)), 'randint': lambda k: jax.random.randint(k, (3,), 0, 9),
                 'bernoulli': lambda k: jax.random.bernoulli(k, 0.3, (3,)), 'ball': lambda k: jax.random.ball(k, 3)}
        call = calls.get(name) or (lambda k, name=name: getattr(jax.random, name)(k, (3, 4)))
        yield f'random_{name}', call, [key()]
    yield 'random_rbg', lambda k: jax.random.normal(jax.random.wrap_key_data(k, impl='rbg'), (3,)), [jax.ShapeDtypeStruct((4,), 'uint32')]
    yield 'resize', lambda a: jax.image.resize(a, (7, 5), 'bilinear'), [of()]
    yield 'map_coordinates', lambda a: jsp.ndimage.map_coordinates(a, [a, a], 1), [of()]
    yield 'fftconvolve', lambda a, b: jsp.signal.fftconvolve(a, b), [of(), of((2, 2))]
    yield 'minimize', lambda x: jsp.optimize.minimize(lambda x: jnp.sum((x - 1) ** 4), x, method='BFGS').x, [of((3,))]
    yield 'segment_sum', lambda a, i: jax.ops.segment_sum(a, i, 3), [of((5,)), of((5,), 'int32')]


def transformed():
    scalar = {'sum_of_squares': lambda a: (a ** 2).sum(), 'softmax': lambda a: jax.nn.softmax(a)[:, 0].sum(), 'norm': lambda a: jnp.linalg.norm(a),
              'products': lambda a: jnp.tanh(a @ a.T).sum(), 'sorted': lambda a: jnp.sort(a, 1)[:, :2].sum(), 'cumulated': lambda a: jnp.cumsum(a, 1)[0].sum(),
              'gathered': lambda a: a[jnp.array([0, 2])].sum(), 'scanned': lambda a: lax.scan(lambda c, r: (c * r + 1, c), a[0], a)[0].sum(),
              'maximum': lambda a: a.max(1).sum(), 'pooled': lambda a: lax.reduce_window(a, -np.inf, lax.max, (1, 2), (1, 2), 'VALID').sum(),
              'logdet': lambda a: jnp.linalg.slogdet(a @ a.T)[1], 'conditional': lambda a: lax.cond(a[0, 0] > 0, jnp.sin, jnp.cos, a).sum(),
              'solved': lambda a: jnp.linalg.solve(a @ a.T, a).sum(), 'erf': lambda a: lax.erf(a).sum(), 'checkpointed': lambda a: jax.checkpoint(jnp.sin)(a).sum()}
    for name, function in scalar.items():
        yield f'grad_{name}', jax.grad(function), [of()]
        yield f'jvp_{name}', lambda a, function=function: jax.jvp(function, (a,), (a,)), [of()]
        yield f'vmap_{name}', jax.vmap(function), [of((3, 4, 6))]
        if name in ('sum_of_squares', 'softmax', 'products'):
            yield f'hessian_{name}', jax.hessian(function), [of((2, 3))]
    yield 'vmap_axes', jax.vmap(jnp.dot, in_axes=(1, None)), [of(), of((4,))]
    yield 'jacobian', jax.jacfwd(lambda a: jnp.sin(a) * a.sum()), [of((3,))]
    yield 'custom', lambda a: jax.nn.relu(a) + jax.grad(lambda b: jax.nn.relu(b).sum())(a), [of()]


def control():
    yield 'while', lambda a: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, a)), [of()]
    yield 'while_captures', lambda a, b: lax.while_loop(lambda x: x.sum() < b.sum(), lambda x: x + b, a), [of(), of()]
    yield 'fori', lambda a: lax.fori_loop(0, 4, lambda i, x: x.at[i].add(1.), a), [of()]
    yield 'fori_dynamic', lambda n, a: lax.fori_loop(0, n, lambda i, x: x * 2, a), [of((), 'int32'), of()]
    yield 'scan', lambda a: lax.scan(lambda c, r: (c + r.sum(), c * r), 0., a), [of()]
    yield 'scan_reverse', lambda a: lax.scan(lambda c, r: (c + r, c), jnp.zeros(6), a, reverse=True, unroll=2), [of()]
    yield 'map', lambda a: lax.map(lambda r: r @ r, a), [of()]
    yield 'associative_scan', lambda a: lax.associative_scan(jnp.multiply, a, axis=1), [of()]
    yield 'cond', lambda p, a: lax.cond(p, lambda x: x + 1, lambda x: x * 2, a), [of((), 'bool'), of()]
    yield 'cond_nested', lambda a: lax.cond(a[0, 0] > 0, lambda: lax.cond(a[0, 1] > 0, lambda: a, lambda: -a), lambda: a * 2), [of()]
    yield 'switch', lambda i, a: lax.switch(i, [lambda x: x, jnp.sin, lambda x: x.sum() + x], a), [of((), 'int32'), of()]
    yield 'nested_jit', lambda a: jax.jit(jnp.sin)(a) + jax.jit(jnp.sin)(a * 2) + jax.jit(jax.jit(jnp.cos))(a), [of()]
    yield 'named_scope', lambda a: jax.named_scope('layer')(jnp.sin)(a), [of()]
    yield 'custom_root', lambda a: lax.custom_root(lambda x: x ** 2 - a, a, lambda f, x: x - f(x) / (2 * x), lambda g, y: y / g(1.)), [of((), 'float32')]


def several_devices():
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ('x', 'y'))
    share = functools.partial(jax.shard_map, mesh=mesh, check_vma=False)
    both = of((8, 8))
    yield 'shard_map_psum', share(lambda a: lax.psum(a, 'x'), in_specs=P('x', 'y'), out_specs=P(None, 'y')), [both]
    yield 'shard_map_pmax', share(lambda a: lax.pmax(a, 'x'), in_specs=P('x', 'y'), out_specs=P(None, 'y')), [both]
    yield 'shard_map_gather', share(lambda a: lax.all_gather(a, 'y', axis=1, tiled=True), in_specs=P('x', 'y'), out_specs=P('x')), [both]
    yield 'shard_map_scatter', share(lambda a: lax.psum_scatter(a, 'y', tiled=True), in_specs=P('x'), out_specs=P(('x', 'y'))), [both]
    yield 'shard_map_all_to_all', share(lambda a: lax.all_to_all(a, 'x', 1, 0, tiled=True), in_specs=P('x'), out_specs=P(None, 'x')), [both]
    yield 'shard_map_permute', share(lambda a: lax.ppermute(a, 'x', [(0, 1), (1, 0)]), in_specs=P('x'), out_specs=P('x')), [both]
    yield 'shard_map_index', share(lambda a: a + lax.axis_index('x'), in_specs=P('x', 'y'), out_specs=P('x', 'y')), [both]
    yield 'constraint', lambda a: lax.with_sharding_constraint(a * 2, NamedSharding(mesh, P('x', ('y',)))), [both]


def operations(text):
    """Returns how often a text contains each operation, without constants."""
    return collections.Counter(name for name in re.findall(r'stablehlo\.\w+|chlo\.\w+|sdy\.\w+', text) if name != 'stablehlo.constant')


def lowered(name, function, arguments):
    with jax.enable_x64(any(part in name for part in ('float64', 'int64'))):
        return jax.jit(function).lower(*arguments)


def write(folder, name, function, arguments):
    """Writes all forms of a program. Returns lines with the files that must be equal, and the number of artifacts."""
    module = lowered(name, function, arguments).compiler_ir('stablehlo')
    stem = f'{folder}/{name}'.replace("'", '').replace('(', '').replace(')', '').replace(',', '_')
    text = module.operation.get_asm()
    lines, count = [], 0
    for version in VERSIONS:
        try:
            artifact = _jax.mlir.serialize_portable_artifact(module, version)
        except Exception:
            # JAX cannot express the program in this version.
            continue
        count += 1
        files = [f'{stem}.{version}.mlirbc']
        pathlib.Path(files[0]).write_bytes(artifact)
        read = _jax.mlir.deserialize_portable_artifact(artifact, module.context)
        for kind, options in [('text', {}), ('debug', {'enable_debug_info': True}), ('generic', {'print_generic_op_form': True})]:
            files.append(f'{stem}.{version}.{kind}.mlir')
            pathlib.Path(files[-1]).write_text(read.operation.get_asm(**options))
        # When JAX writes an artifact, it expands some operations, simplifies others, and rewrites those of the dialect sdy.
        if version == VERSIONS[0] and 'sdy.' not in text and operations(text) == operations(read.operation.get_asm()):
            files.append(f'{stem}.jax.mlir')
            pathlib.Path(files[-1]).write_text(text)
        lines.append(' '.join(files))
    if 'sdy.' in text:
        # As a plugin gets the program: with operations of the dialect sdy.
        files = [f'{stem}.sdy.mlir', f'{stem}.sdy_generic.mlir', f'{stem}.sdy.mlirbc']
        pathlib.Path(files[0]).write_text(text)
        pathlib.Path(files[1]).write_text(module.operation.get_asm(print_generic_op_form=True))
        if 'chlo.' not in text and 'complex<' not in text and 'stablehlo.case' not in text:
            pathlib.Path(files[2]).write_bytes(_jax.mlir.serialize_portable_artifact(module, VERSIONS[2], True))
            lines.append(' '.join(files))
            count += 1
    return lines, count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--folder', help='keep the files in this folder')
    options = parser.parse_args()
    subprocess.run(['cargo', 'build', '-p', 'fusebox-stablehlo', '--example', 'forms'], cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or temporary
        os.makedirs(folder, exist_ok=True)
        lines, names, artifacts, absent = [], set(), 0, []
        for name, function, arguments in programs():
            try:
                own, count = write(folder, name, function, arguments)
            except Exception as error:
                absent.append(f'{name}: {str(error).splitlines()[0][:120]}')
                continue
            lines += own
            artifacts += count
            names.add(name)
        target = pathlib.Path(os.environ.get('CARGO_TARGET_DIR', ROOT / 'target'))
        compared = subprocess.run([target / 'debug/examples/forms', 'compare'], input='\n'.join(lines), text=True, capture_output=True, check=True)
    lines = compared.stdout.splitlines()
    equal, equivalent = (sum(line.startswith(word) for line in lines) for word in ('equal ', 'equivalent '))
    # Only the text of JAX itself may differ in details.
    faults = [line for line in lines if not line.startswith('equal ') and not ('.jax.mlir' in line or '.sdy.' in line) * line.startswith('equivalent ')]
    print('\n'.join(faults))
    print('\n'.join(f'JAX does not lower {it}' for it in absent))
    print(f'{len(names)} programs, {artifacts} artifacts in the versions {", ".join(VERSIONS)}, {equal} equal, {equivalent} equivalent, {len(faults)} differ')
    return bool(faults) or len(names) < 500


if __name__ == '__main__':
    sys.exit(main())
