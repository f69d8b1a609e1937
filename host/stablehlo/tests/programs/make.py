#!/usr/bin/env python3
"""Writes the programs of the tests: NAME.mlirbc (portable artifact), NAME.mlir (text) and NAME.hlo (JAX's own conversion), and
one file of jax.export.

    make.py [FOLDER]        needs jax 0.10.2 and flatbuffers
"""
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax._src.lib import _jax

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
    exported = export.export(jax.jit(PROGRAMS['softmax'][0]))(jax.ShapeDtypeStruct((4, 5), jnp.float32))
    write('softmax.jax_export', bytes(exported.serialize()))


main()
