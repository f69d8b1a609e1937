"""Programs of JAX on fusebox, compared with NumPy or with JAX's own cpu backend.

`python -m unittest discover -s python/fusebox-jax/tests`, with FUSEBOX_PJRT_LIBRARY set.
"""

import os
import tempfile
import threading
import unittest

os.environ["JAX_PLATFORMS"] = "fusebox,cpu"

import fusebox_jax  # noqa: E402

fusebox_jax.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.experimental import io_callback  # noqa: E402

RANDOM = np.random.default_rng(7)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


class Programs(unittest.TestCase):
    def same(self, function, *arguments, tolerance=2e-5):
        """Checks that fusebox and JAX's own cpu backend agree."""
        result = jax.jit(function)(*arguments)
        with jax.default_device(jax.devices("cpu")[0]):
            expected = jax.jit(function)(*arguments)
        for one, other in zip(jax.tree.leaves(result), jax.tree.leaves(expected), strict=True):
            self.assertEqual(one.devices(), {jax.devices("fusebox")[0]})
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
            np.testing.assert_allclose(
                np.asarray(one, np.float64), np.asarray(other, np.float64), tolerance, tolerance
            )

    def test_fusebox_is_the_default(self):
        self.assertEqual(jax.default_backend(), "fusebox")
        self.assertEqual(jax.devices()[0].platform, "fusebox")
        np.testing.assert_array_equal(jnp.arange(5) + 1, [1, 2, 3, 4, 5])

    def test_elementwise_functions(self):
        self.same(lambda x: (jnp.sin(x), jax.nn.gelu(x), jnp.exp(-x * x), x > 0), floats(33, 5))

    def test_gradient(self):
        def loss(w, x):
            return jnp.mean(jnp.tanh(x @ w) ** 2)

        self.same(jax.value_and_grad(loss), floats(8, 4), floats(16, 8))

    def test_schur_forms_have_the_phases_of_jax(self):
        self.same(lambda x: jax.scipy.linalg.schur(x, output="complex"), floats(12, 12), tolerance=1e-3)

    def test_control_flow(self):
        def function(x):
            total, parts = jax.lax.scan(lambda c, y: (c + y, c * y), 0.0, x)
            halved = jax.lax.while_loop(lambda y: jnp.abs(y) > 1e-3, lambda y: y / 2, total)
            branch = jax.lax.cond(total > 0, jnp.sin, jnp.cos, total)
            choice = jax.lax.switch(jnp.argmax(x) % 3, [jnp.exp, jnp.tanh, jnp.abs], x)
            return total, parts, halved, branch, choice

        self.same(function, floats(20))

    def test_branches_of_platforms(self):
        choose = jax.jit(lambda x: jax.lax.platform_dependent(x, cpu=lambda x: x + 1, tpu=lambda x: x + 2))
        self.assertEqual(float(choose(1.0)), 2)

    def test_random_numbers(self):
        def function(seed):
            key = jax.random.key(seed)
            a, b = jax.random.split(key)
            return jax.random.normal(a, (50,)), jax.random.randint(b, (9,), 0, 100), jax.random.permutation(a, 10)

        self.same(function, 3)

    def test_products_and_convolutions(self):
        self.same(lambda a, b: jnp.einsum("bij,bjk->bik", a, b), floats(3, 5, 7), floats(3, 7, 2))
        self.same(
            lambda x, k: jax.lax.conv_general_dilated(
                x, k, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            ),
            floats(2, 9, 8, 3),
            floats(3, 3, 3, 4),
        )

    def test_order_and_transforms(self):
        self.same(lambda x: (jnp.sort(x), jnp.argsort(x), jnp.median(x), jax.lax.top_k(x, 3)), floats(30))
        self.same(lambda x: jnp.abs(jnp.fft.rfft(x)), floats(4, 16))
        self.same(lambda x: jax.lax.approx_max_k(x, 3, recall_target=1.0), floats(2, 40))
        self.same(lambda x: (jnp.cumsum(x, 0), x.at[1].add(2.0), x[::-1, 1:]), floats(5, 6))

    def test_decompositions(self):
        a = floats(6, 6)
        square = a @ a.T + 6 * np.eye(6, dtype=np.float32)
        self.same(lambda m: jnp.linalg.cholesky(m), square)
        self.same(lambda m: jnp.linalg.solve(m, m[0]), square)
        self.same(lambda m: jnp.linalg.eigvalsh(m), square)
        self.same(lambda m: jnp.linalg.svd(m, compute_uv=False), a)
        self.same(lambda m: jnp.abs(jnp.linalg.qr(m)[1]), a)
        self.same(lambda m: jnp.linalg.det(m), a, tolerance=1e-4)
        self.same(lambda d: jax.lax.linalg.tridiagonal_solve(d, d + 9, d, d[:, None]), floats(7))

    def test_narrow_types(self):
        np.testing.assert_array_equal(np.asarray(jnp.arange(-3, 3, dtype=jnp.int4) + 1), [-2, -1, 0, 1, 2, 3])
        np.testing.assert_array_equal(np.asarray(jnp.ones(3, jnp.bfloat16) * 2).astype(np.float32), [2, 2, 2])
        np.testing.assert_array_equal(np.asarray(jnp.ones(3, jnp.float8_e4m3fn)).astype(np.float32), [1, 1, 1])
        np.testing.assert_array_equal(jnp.array([True, False]) | jnp.array([False, False]), [True, False])

    def test_empty_arrays(self):
        self.assertEqual((jnp.zeros((0, 3)) + 1).shape, (0, 3))
        self.assertEqual(float(jnp.sum(jnp.zeros((0, 3)))), 0)


class Arrays(unittest.TestCase):
    def test_numpy_reads_the_memory_of_an_array(self):
        x = jnp.arange(4.0) + 0
        view = np.asarray(x)
        self.assertFalse(view.flags.owndata)
        x.delete()
        np.testing.assert_array_equal(view, [0, 1, 2, 3])

    def test_any_strides_are_copied(self):
        x = np.arange(24.0, dtype=np.float32).reshape(4, 6)[::2, ::-3].T
        np.testing.assert_array_equal(jax.device_put(x), x)

    def test_memory_kinds(self):
        device = jax.devices()[0]
        self.assertEqual([it.kind for it in device.addressable_memories()], ["device", "pinned_host", "unpinned_host"])
        sharding = jax.sharding.SingleDeviceSharding(device, memory_kind="pinned_host")
        x = jax.device_put(jnp.arange(3), sharding)
        self.assertEqual(x.sharding.memory_kind, "pinned_host")
        back = jax.device_put(x, jax.sharding.SingleDeviceSharding(device))
        self.assertEqual(back.sharding.memory_kind, "device")
        np.testing.assert_array_equal(back, [0, 1, 2])

    def test_other_devices(self):
        x = jax.device_put(jnp.arange(3), jax.devices("cpu")[0])
        y = jax.device_put(x, jax.devices("fusebox")[0])
        np.testing.assert_array_equal(y + 1, [1, 2, 3])

    def test_dlpack(self):
        x = jnp.arange(4.0) + 0
        np.testing.assert_array_equal(np.from_dlpack(x), [0, 1, 2, 3])
        np.testing.assert_array_equal(jax.dlpack.from_dlpack(np.arange(3.0)), [0, 1, 2])


class Execution(unittest.TestCase):
    def test_donation(self):
        add = jax.jit(lambda x, y: (x + y, y), donate_argnums=0)
        a, b = jnp.arange(16.0) + 0, jnp.ones(16)
        kept = np.asarray(a)
        np.testing.assert_array_equal(add(a, b)[0], np.arange(16.0) + 1)
        self.assertTrue(a.is_deleted() and not b.is_deleted())
        np.testing.assert_array_equal(kept, np.arange(16.0))
        with self.assertRaisesRegex(Exception, "deleted"):
            add(a, b)
        with self.assertRaisesRegex(Exception, "Attempt to donate a buffer which is also used"):
            add(b, b)

    def test_threads(self):
        failures = []

        def work(number):
            try:
                f = jax.jit(lambda x: x * number + jnp.sum(x))
                for _ in range(10):
                    np.testing.assert_allclose(f(jnp.ones(3)), np.full(3, number + 3.0))
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_stored_programs(self):
        from jax.experimental import serialize_executable

        compiled = jax.jit(lambda x: x * 3).lower(jnp.ones(3)).compile()
        loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
        np.testing.assert_array_equal(loaded(jnp.ones(3)), [3, 3, 3])

    def test_cache_of_jax(self):
        from jax._src import compilation_cache

        with tempfile.TemporaryDirectory() as folder:
            jax.config.update("jax_compilation_cache_dir", folder)
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
            try:
                compilation_cache.reset_cache()
                for _ in range(2):
                    np.testing.assert_allclose(jax.jit(lambda x: jnp.tanh(x) * 3)(jnp.ones(7)), np.tanh(1.0) * np.full(7, 3.0), 1e-6)
                    stored = [name for name in os.listdir(folder) if name.endswith("-cache")]
                    self.assertTrue(stored)
                    jax.clear_caches()
            finally:
                jax.config.update("jax_compilation_cache_dir", None)
                compilation_cache.reset_cache()

    def test_figures(self):
        compiled = jax.jit(lambda x: jnp.sin(x) @ x).lower(jnp.ones((8, 8))).compile()
        self.assertGreater(compiled.cost_analysis()["flops"], 8 * 8 * 8)
        self.assertEqual(compiled.memory_analysis().argument_size_in_bytes, 256)

    def test_compiler_options(self):
        lowered = jax.jit(lambda x: x + 1).lower(jnp.ones(3))
        with self.assertRaisesRegex(Exception, "No such compile option: 'xla_nonexistent_flag'"):
            lowered.compile(compiler_options={"xla_nonexistent_flag": True})
        simulated = lowered.compile(compiler_options={"fusebox.target": "simt"})
        np.testing.assert_array_equal(simulated(jnp.ones(3)), [2, 2, 2])

    def test_errors_name_the_line(self):
        with self.assertRaisesRegex(Exception, "no_such_target"):
            jax.jit(lambda x: jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(x.shape, x.dtype))(x))(
                jnp.ones(3)
            )


class Callbacks(unittest.TestCase):
    def test_pure_callback(self):
        def function(x):
            return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2

        np.testing.assert_allclose(jax.jit(function)(jnp.ones(3)), 2 * np.sin(np.ones(3)), 1e-6)

    def test_ordered_callbacks(self):
        seen = []

        def function(x):
            for _ in range(3):
                x = io_callback(lambda y: (seen.append(float(y)), y + 1)[1], jax.ShapeDtypeStruct((), x.dtype), x, ordered=True)
            return x

        self.assertEqual(float(jax.jit(function)(jnp.float32(0))), 3)
        self.assertEqual(float(jax.jit(function)(jnp.float32(5))), 8)
        jax.effects_barrier()
        self.assertEqual(seen, [0, 1, 2, 5, 6, 7])

    def test_debug_callbacks(self):
        seen = []

        def function(x):
            jax.debug.callback(lambda y: seen.append(float(y)), x.sum())
            jax.debug.callback(lambda y: seen.append(float(y)), x[0], ordered=True)
            return x

        jax.jit(function)(jnp.ones(3)).block_until_ready()
        jax.effects_barrier()
        self.assertEqual(sorted(seen), [1, 3])

    def test_effects_stay_without_results(self):
        seen = []

        @jax.jit
        def function(x):
            for _ in range(2):
                jax.lax.cond(x > 0, lambda y: io_callback(lambda z: seen.append(float(z)), None, y), lambda y: None, x)

        function(1.0)
        jax.vmap(jax.jit(lambda x: io_callback(lambda z: seen.append(float(z)), None, 2 * x)))(jnp.arange(3.0))
        jax.effects_barrier()
        self.assertEqual(sorted(seen), [0, 1, 1, 2, 4])

    def test_errors_of_callbacks(self):
        def fail(_):
            raise ValueError("this callback fails")

        function = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
        with self.assertRaisesRegex(Exception, "this callback fails"):
            jax.block_until_ready(function(jnp.ones(3)))


if __name__ == "__main__":
    unittest.main()
