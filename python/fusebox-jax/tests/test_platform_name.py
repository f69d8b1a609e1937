"""A program that sees fusebox under the name cpu, and also uses JAX's own cpu backend."""

import os
import subprocess
import sys
import textwrap
import unittest

PROGRAM = """
    import fusebox_jax
    fusebox_jax.initialize()
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import io_callback

    own, host = jax.devices()[0], jax.devices("cpu")[0]
    assert own.platform == host.platform == jax.default_backend() == "cpu"
    assert "fusebox" in own.client.platform_version and "fusebox" not in host.client.platform_version

    def twice(x):
        seen.append(float(x[0]))
        return np.asarray(x) * 2

    def callback(x):
        return io_callback(twice, jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True) + 1

    # The same program on both backends: each has its own way to call Python.
    for device in (own, host, own):
        seen = []
        x = jax.device_put(np.arange(3, dtype=np.float32) + 4, device)
        y = jax.jit(callback)(x)
        assert y.devices() == {device} and seen == [4.0], (y, seen)
        np.testing.assert_array_equal(y, [9, 11, 13])

    x = jnp.ones(8)
    y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted() and y[0] == 2
    np.testing.assert_array_equal(np.from_dlpack(y), np.full(8, 2))
    values, vectors = jnp.linalg.eigh(jnp.diag(jnp.arange(3.0)))
    np.testing.assert_allclose(values, [0, 1, 2], atol=1e-6)
    branch = jax.lax.platform_dependent(x := jnp.zeros(1), cpu=lambda x: x + 1, default=lambda x: x + 2)
    assert branch[0] == 1
    print("right")
"""


class PlatformName(unittest.TestCase):
    def run_with(self, name, program):
        environment = dict(os.environ, JAX_PLATFORMS="fusebox,cpu", FUSEBOX_PLATFORM_NAME=name)
        words = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(program)]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)

    def test_the_name_may_be_cpu(self):
        ended = self.run_with("cpu", PROGRAM)
        self.assertEqual((ended.returncode, ended.stdout.strip()), (0, "right"), ended.stderr[-3000:])

    def test_other_names_are_refused(self):
        ended = self.run_with("gpu", "import fusebox_jax, jax; fusebox_jax.initialize(); jax.devices()")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("FUSEBOX_PLATFORM_NAME must be `fusebox` or `cpu`, not `gpu`", ended.stderr)


if __name__ == "__main__":
    unittest.main()
