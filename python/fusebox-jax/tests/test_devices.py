"""Programs of JAX on eight devices of fusebox, compared with NumPy.

The number of devices is fixed when a process uses JAX first, so these tests run in a process of their own.
"""

import os
import subprocess
import sys
import unittest

os.environ["JAX_PLATFORMS"] = "fusebox,cpu"

import fusebox_jax  # noqa: E402

fusebox_jax.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P  # noqa: E402

COUNT = 8
HAS_DEVICES = os.environ.get("FUSEBOX_NUM_DEVICES") == str(COUNT)


def mesh(shape=(COUNT,), names=("x",), devices=None):
    return jax.make_mesh(shape, names, axis_types=(AxisType.Auto,) * len(names), devices=devices)


@unittest.skipIf(HAS_DEVICES, "this process has the devices")
class Process(unittest.TestCase):
    def test_programs_on_eight_devices(self):
        environment = dict(os.environ, FUSEBOX_NUM_DEVICES=str(COUNT))
        ended = subprocess.run([sys.executable, "-W", "ignore", __file__], env=environment, capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertIn("OK", ended.stderr)


@unittest.skipUnless(HAS_DEVICES, f"needs FUSEBOX_NUM_DEVICES={COUNT}")
class Devices(unittest.TestCase):
    def on_all(self, function, *arguments, out=P("x"), expected):
        """Checks what `function` computes with the parts of its arguments, with and without jit."""
        mapped = jax.shard_map(function, mesh=mesh(), in_specs=P("x"), out_specs=out, check_vma=False)
        for run in (mapped, jax.jit(mapped)):
            np.testing.assert_allclose(run(*arguments), expected, 1e-6)

    def test_sums(self):
        x = np.arange(16.0, dtype=np.float32)
        pairs = x.reshape(COUNT, 2)
        self.on_all(lambda a: jax.lax.psum(a, "x"), x, out=P(), expected=pairs.sum(0))
        self.on_all(lambda a: jax.lax.pmax(a, "x"), x, out=P(), expected=pairs.max(0))
        self.on_all(lambda a: jax.lax.pmean(a, "x"), x.astype(jnp.bfloat16), out=P(), expected=pairs.mean(0))
        groups = [[0, 1, 2, 3], [4, 5, 6, 7]]
        by_group = np.repeat(pairs.reshape(2, 4, 2).sum(1), 4, 0).reshape(16)
        self.on_all(lambda a: jax.lax.psum(a, "x", axis_index_groups=groups), x, expected=by_group)

    def test_exchanges(self):
        x = np.arange(64, dtype=np.int32)
        rows = x.reshape(COUNT, COUNT)
        self.on_all(lambda a: jax.lax.all_gather(a, "x", tiled=True), x, out=P(), expected=x)
        self.on_all(lambda a: jax.lax.psum_scatter(a, "x", tiled=True), x, expected=rows.sum(0))
        self.on_all(lambda a: jax.lax.all_to_all(a, "x", 0, 0, tiled=True), x, expected=rows.T.reshape(64))
        ring = [(i, (i + 1) % COUNT) for i in range(COUNT)]
        self.on_all(lambda a: jax.lax.ppermute(a, "x", ring), x, expected=np.roll(rows, 1, 0).reshape(64))
        alone = np.where(np.arange(COUNT)[:, None] == 3, rows[0], 0)
        self.on_all(lambda a: jax.lax.ppermute(a, "x", [(0, 3)]), x, expected=alone.reshape(64))
        # Rows of a matrix become columns: split and joined dimensions differ.
        self.on_all(lambda a: jax.lax.all_to_all(a, "x", 1, 0, tiled=True), rows, out=P(None, "x"), expected=rows)

    def test_exchanges_in_loops_and_branches(self):
        x = np.arange(16.0, dtype=np.float32)

        def body(a):
            def step(carry, _):
                carry = jax.lax.ppermute(carry, "x", [(i, (i + 1) % COUNT) for i in range(COUNT)]) + 1
                return carry, jax.lax.psum(carry, "x")

            last, sums = jax.lax.scan(step, a, None, length=COUNT)
            return jax.lax.cond(sums.sum() > 0, lambda: last + jax.lax.psum(a, "x"), lambda: last)

        pairs = x.reshape(COUNT, 2)
        self.on_all(body, x, expected=(pairs + COUNT + pairs.sum(0)).reshape(16))

    def test_arrays_that_are_divided(self):
        x = np.arange(64, dtype=np.float32).reshape(8, 8)
        grid = mesh((4, 2), ("a", "b"))
        given = jax.device_put(x, NamedSharding(grid, P("a", "b")))
        result = jax.jit(lambda v: v @ v.T + 1, out_shardings=NamedSharding(grid, P("b")))(given)
        np.testing.assert_allclose(result, x @ x.T + 1)
        self.assertEqual({shard.data.shape for shard in result.addressable_shards}, {(4, 8)})
        inner = jax.jit(lambda v: jax.lax.with_sharding_constraint(v * 2, NamedSharding(grid, P("b", "a"))))(given)
        np.testing.assert_allclose(inner, x * 2)
        self.assertEqual(inner.sharding.spec, P("b", "a"))
        np.testing.assert_allclose(jax.jit(lambda v: v + 1)(given), x + 1)

    def test_devices_in_another_order(self):
        devices = jax.devices()
        order = [devices[i] for i in (3, 1, 7, 5, 0, 2, 6, 4)]
        turned = jax.sharding.Mesh(np.array(order), ("x",))
        x = np.arange(8, dtype=np.int32)
        mapped = jax.shard_map(lambda a: a + jax.lax.axis_index("x"), mesh=turned, in_specs=P("x"), out_specs=P("x"))
        result = jax.jit(mapped)(x)
        np.testing.assert_array_equal(result, 2 * x)
        self.assertEqual({shard.device.id: int(shard.data[0]) for shard in result.addressable_shards}[3], 0)

    def test_one_of_the_devices(self):
        device = jax.devices()[5]
        x = jax.device_put(np.arange(4.0, dtype=np.float32), device)
        result = jax.jit(lambda v: v * 3)(x)
        self.assertEqual(result.devices(), {device})
        np.testing.assert_allclose(result, [0, 3, 6, 9])
        self.assertEqual(jax.device_put(result, jax.devices()[2]).devices(), {jax.devices()[2]})

    def test_pmap(self):
        x = np.arange(16.0, dtype=np.float32).reshape(8, 2)
        result = jax.pmap(lambda a: a / jax.lax.psum(a, "i"), axis_name="i")(x)
        np.testing.assert_allclose(result, x / x.sum(0), 1e-6)

    def test_donation_and_gradients(self):
        x = np.arange(16.0, dtype=np.float32)
        given = jax.device_put(x, NamedSharding(mesh(), P("x")))
        result = jax.jit(lambda v: v + 1, donate_argnums=0)(given)
        np.testing.assert_allclose(result, x + 1)
        self.assertTrue(given.is_deleted())
        loss = jax.shard_map(lambda a: jax.lax.psum((a**2).sum(), "x"), mesh=mesh(), in_specs=P("x"), out_specs=P())
        np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), 2 * x)

    def test_some_axes_are_manual(self):
        grid = mesh((4, 2), ("a", "b"))
        x = np.arange(32, dtype=np.float32).reshape(8, 4)
        mapped = jax.shard_map(
            lambda v: v + jax.lax.psum(v, "a"), mesh=grid, in_specs=P("a"), out_specs=P("a"), axis_names={"a"}
        )
        given = jax.device_put(x, NamedSharding(grid, P("a", "b")))
        np.testing.assert_allclose(jax.jit(mapped)(given), x + np.tile(x.reshape(4, 2, 4).sum(0), (4, 1)))


if __name__ == "__main__":
    unittest.main()
