"""A plugin of pytest: registers fusebox with JAX, and lets JAX's tests treat it as a cpu, for which most of them are written."""
import fusebox_jax

fusebox_jax.initialize()

import jax
import jax._src.test_util  # defines the option

jax.config.update('jax_test_dut', 'cpu')
