#!/usr/bin/env python3
"""Writes the programs of the tests: NAME.mlirbc (portable artifact), NAME.mlir (text) and NAME.hlo (JAX's own conversion), and
one file of jax.export.

    make.py [FOLDER]        needs jax 0.10.2 and flatbuffers
"""
import os
import sys

os.environ['XLA_FLAGS'] = '--xla_force_host_platform_device_count=4'

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax._src.lib import _jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
# The version that a plugin gets that states none.
VERSION = '1.13.7'
X = np.ones((4, 5), np.float32)


def loop(a):
    def body(state):
        step, value = state
        return step + 1, jnp.sin(value) @ a.T @ a * 0.1
    return lax.while_loop(lambda state: state[0] < 3, body, (0, a))


def scan(a):
    return lax.scan(lambda carry, row: (carry + row.sum(), carry * row), 0., a)


def library(a, b):
    return (lax.square(a), lax.atan(a), lax.erfc(a), lax.erf_inv(a), lax.lgamma(a), lax.digamma(a), lax.bessel_i1e(a),
            lax.zeta(a, b), lax.polygamma(a, b), lax.nextafter(a, b))


def floats(element):
    # The test chooses the values.
    return jax.ShapeDtypeStruct((1024,), element), jax.ShapeDtypeStruct((1024,), element)


PROGRAMS = {
    'add': (lambda a, b: a + b * 2, X, X),
    'bf16': (lambda a: a.astype(jnp.bfloat16) @ a.T.astype(jnp.bfloat16), X),
    'bool': (lambda a: (a > 0) & np.array([True, False, True, True, False]), X),
    'cholesky': (lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(4)), X),
    'cond': (lambda a: lax.cond(a.sum() > 0, lambda: a * 2, lambda: a - 1), X),
    'conv': (lambda a, k: lax.conv_general_dilated(a, k, (1, 2), 'SAME', rhs_dilation=(2, 1)),
             np.ones((1, 3, 8, 8), np.float32), np.ones((4, 3, 3, 3), np.float32)),
    'cumsum': (lambda a: jnp.cumsum(a, axis=1), X),
    'eigh': (lambda a: jnp.linalg.eigh(a @ a.T + jnp.eye(4)), X),
    'erf': (lambda a: lax.erf(a) + jnp.arcsinh(a), X),
    'fft': (lambda a: jnp.fft.fft(a), X),
    'gather': (lambda a, i: a[i], X, np.array([1, 3])),
    'grad': (jax.grad(lambda a: (jnp.tanh(a @ a.T) ** 2).sum()), X),
    'int4': (lambda a: (a.astype(jnp.int4) + np.array([-3, 7, 0, 1, 2]).astype(jnp.int4)).astype(jnp.int8), np.arange(5, dtype=np.int8)),
    'ints': (lambda a: (a >> 1) | (a & 3), np.arange(5, dtype=np.uint8)),
    'library_bf16': (library, *floats('bfloat16')),
    'library_complex': (lax.square, jax.ShapeDtypeStruct((1024,), 'complex64')),
    'library_f16': (library, *floats('float16')),
    'library_f32': (library, *floats('float32')),
    'library_f64': (library, *floats('float64')),
    'loop': (loop, X),
    'max_index': (lambda a: jnp.argmax(a, axis=1), X),
    'mulhi': (lax.mulhi, np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32)),
    'pad': (lambda a: lax.pad(a[::-1, 1:4:2], 7., ((1, 2, 1), (-1, 0, 0))), X),
    'pool': (lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (1, 2), (1, 2), 'VALID'), X),
    'random': (lambda k: jax.random.normal(k, (3, 4)), jax.random.key_data(jax.random.PRNGKey(0))),
    'scan': (scan, X),
    'scatter': (lambda a, i: a.at[i].add(1.0), X, np.array([1, 3])),
    'softmax': (lambda a: jax.nn.softmax(a), X),
    'sort': (lambda a: (jnp.sort(a), jnp.argsort(a, axis=0)), X),
    'switch': (lambda i, a: lax.switch(i, [lambda a: a, lambda a: a + 1, lambda a: a.sum() + a], a), np.int32(1), X),
    'top_k': (lambda a: lax.top_k(a, 2), X),
}


def sharded():
    """Lowers a program for four devices: shardings, constraints, and manual computations."""
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ('x', 'y'))
    of = lambda *spec: NamedSharding(mesh, P(*spec))

    def products(a, b):
        return lax.psum(a @ b, 'y'), lax.all_gather(a, 'x', tiled=True), lax.ppermute(b, 'x', [(0, 1), (1, 0)])

    def program(a, b):
        a = lax.with_sharding_constraint(a, of('x', None))
        parts = jax.shard_map(products, mesh=mesh, in_specs=(P('x', 'y'), P('y', None)),
                              out_specs=(P('x', None), P(None, 'y'), P('y', None)), check_vma=False)
        sums = jax.shard_map(lambda c: lax.psum_scatter(c, 'y', tiled=True), mesh=mesh, in_specs=P(('x', 'y')),
                             out_specs=P('x'), check_vma=False)
        return parts(a, b), sums(a.sum(1))

    shape = jax.ShapeDtypeStruct((8, 8), jnp.float32)
    results = (of('x'), of(), of('y')), of('x')
    return jax.jit(program, in_shardings=(of('x', 'y'), of(None, ('x', 'y'))), out_shardings=results).lower(shape, shape)


# Functions for arguments of unknown sizes: the sizes as symbols, and as numbers. JAX computes sizes in many ways.
POLYMORPHIC = {
    'reshaped': (lambda x: (jnp.concatenate([x.reshape(-1), jnp.ones(2 * x.shape[0])]) + jnp.arange(x.size + 2 * x.shape[0]),
                            x.reshape(x.shape[1], -1), x.mean(0)), ['b, c'], [(4, 6)]),
    'softmax': (lambda x, w: jax.nn.softmax(x @ w), ['b, c', 'c, 3'], [(4, 6), (6, 3)]),
    'sliced': (lambda x: (x[::-1][:x.shape[0] - 1], x[1:, x.shape[1] // 2:], jnp.pad(x, ((1, 2), (0, 0))),
                          lax.pad(x, 1., ((x.shape[1] % 4, 0, 0), (0, 0, 1)))), ['b, c'], [(4, 6)]),
    'gathered': (lambda x: (x[jnp.array([2, -1])], lax.dynamic_slice_in_dim(x, x[0, 0].astype(int), x.shape[0] - 1),
                            x.at[:, 1].set(0.)), ['b, c'], [(4, 6)]),
    'cumulated': (lambda x: (jnp.cumsum(x, axis=0), jnp.sort(x, axis=1), jnp.argmax(x, axis=1), lax.top_k(x, 2)), ['b, c'],
                  [(4, 6)], ['c >= 2']),
    'repeated': (lambda x: (lax.fori_loop(0, 3, lambda k, v: v * 0.5 + jnp.sum(v), x), lax.cond(x.sum() > 0, lambda: x, lambda: x + 1)),
                 ['b, c'], [(4, 6)]),
    'convolved': (lambda x: lax.conv_general_dilated(x, jnp.ones((2, 3, 3, 3)), (2, 1), 'SAME'), ['b, 3, h, w'], [(2, 3, 5, 4)]),
    'vectors': (lambda x: jax.vmap(lambda v: jnp.outer(v, v).sum(0) + jnp.linspace(0., 1., 3).sum())(x), ['b, c'], [(4, 6)]),
}


def polymorphic(name, function, symbols, sizes, constraints=()):
    scope = export.SymbolicScope(constraints)
    of = lambda dims: jax.ShapeDtypeStruct(dims, jnp.float32)
    exported = export.export(jax.jit(function))(*[of(export.symbolic_shape(dims, scope=scope)) for dims in symbols])
    write(f'polymorphic/{name}.mlir', exported.mlir_module())
    write(f'polymorphic/{name}.jax_export', bytes(exported.serialize()))
    write(f'polymorphic/{name}.hlo', jax.jit(function).lower(*[of(dims) for dims in sizes]).as_text('hlo'))


def write(name, data):
    with open(os.path.join(FOLDER, name), 'wb' if isinstance(data, bytes) else 'w') as file:
        file.write(data)


def main():
    # The programs name files without folders.
    jax.config.update('jax_hlo_source_file_canonicalization_regex', '.*/')
    for name, (function, *arguments) in PROGRAMS.items():
        with jax.enable_x64(name == 'library_f64'):
            lowered = jax.jit(function).lower(*arguments)
        module = lowered.compiler_ir('stablehlo')
        write(f'{name}.mlirbc', _jax.mlir.serialize_portable_artifact(module, VERSION))
        write(f'{name}.hlo', lowered.as_text('hlo'))
        write(f'{name}.mlir', lowered.as_text(debug_info=name == 'loop'))
    for name, parts in POLYMORPHIC.items():
        polymorphic(name, *parts)
    lowered = sharded()
    module = lowered.compiler_ir('stablehlo')
    write('sharded/shards.mlir', lowered.as_text())
    write('sharded/shards_generic.mlir', module.operation.get_asm(print_generic_op_form=True))
    # As a plugin gets the program, with the operations of the dialect sdy.
    write('sharded/shards.mlirbc', _jax.mlir.serialize_portable_artifact(module, VERSION, True))
    exported = export.export(jax.jit(PROGRAMS['softmax'][0]))(jax.ShapeDtypeStruct((4, 5), jnp.float32))
    write('softmax.jax_export', bytes(exported.serialize()))


main()
