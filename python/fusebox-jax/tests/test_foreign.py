"""Foreign functions, which the tests compile with the headers of jaxlib. Skipped without a C++ compiler."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

os.environ["JAX_PLATFORMS"] = "fusebox,cpu"

import fusebox_jax  # noqa: E402

fusebox_jax.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

COMPILER = shutil.which("g++") or shutil.which("clang++")


@unittest.skipUnless(COMPILER, "there is no C++ compiler")
class ForeignFunctions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        library = os.path.join(cls.folder.name, "foreign.so")
        source = pathlib.Path(__file__).with_name("foreign.cc")
        words = [COMPILER, "-std=c++17", "-O1", "-w", "-shared", "-fPIC", f"-I{jax.ffi.include_dir()}", str(source), "-o", library]
        subprocess.run(words, check=True)
        opened = ctypes.CDLL(library)
        for name in ("affine", "doubled"):
            jax.ffi.register_ffi_target(f"fusebox_test_{name}", jax.ffi.pycapsule(getattr(opened, name)), platform="cpu")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def affine(self, x, mode="add", **layouts):
        results = (jax.ShapeDtypeStruct(x.shape, jnp.float32), jax.ShapeDtypeStruct(x.shape, jnp.int32))
        call = jax.ffi.ffi_call("fusebox_test_affine", results, **layouts)
        return call(x, scale=np.float32(0.5), weights=np.array([1, 2, 3], np.int64), mode=mode)

    def test_attributes_of_all_kinds(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        y, positions = jax.jit(self.affine)(x)
        self.assertEqual(y.devices(), {jax.devices("fusebox")[0]})
        np.testing.assert_array_equal(y, x + 3)
        np.testing.assert_array_equal(positions, [[0, 1, 2], [3, 4, 5]])

    def test_layouts(self):
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        columns = (1, 0)
        y, positions = jax.jit(lambda x: self.affine(x, input_layouts=[columns], output_layouts=[columns, columns]))(x)
        np.testing.assert_array_equal(y, x + 3)
        np.testing.assert_array_equal(positions, [[0, 2, 4], [1, 3, 5]])

    def test_errors(self):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "fusebox_test_affine: INVALID_ARGUMENT: mode must be"):
            jax.block_until_ready(jax.jit(lambda x: self.affine(x, mode="multiply"))(np.ones(2, np.float32)))
        unknown = jax.ffi.ffi_call("fusebox_test_unknown", jax.ShapeDtypeStruct((2,), jnp.float32))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "no function with its name"):
            jax.jit(unknown)(np.ones(2, np.float32))

    def test_tasks_and_futures(self):
        doubled = jax.ffi.ffi_call("fusebox_test_doubled", jax.ShapeDtypeStruct((1000,), jnp.float32))
        x = np.arange(1000, dtype=np.float32)
        for _ in range(5):
            np.testing.assert_array_equal(jax.jit(lambda x: doubled(x) + 1)(x), 2 * x + 1)

    def test_functions_of_jaxlib(self):
        lower, main, upper = (np.float32([0, 1, 2]), np.float32([4, 5, 6]), np.float32([1, 2, 0]))
        b = np.arange(6, dtype=np.float32).reshape(3, 2)
        solved = jax.jit(jax.lax.linalg.tridiagonal_solve)(lower, main, upper, b)
        matrix = np.diag(main) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
        np.testing.assert_allclose(matrix @ np.asarray(solved), b, 1e-5, 1e-5)


if __name__ == "__main__":
    unittest.main()
