"""The tools of the package: explain, profile, ab, tune; errors; exchanged emitters."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

os.environ["JAX_PLATFORMS"] = "fusebox,cpu"
# The choices of this test's tuning do not belong to the user.
_CACHE = tempfile.TemporaryDirectory()
os.environ["XDG_CACHE_HOME"] = _CACHE.name

import fusebox_jax as fusebox  # noqa: E402

fusebox.initialize()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

HERE = pathlib.Path(__file__).name
RANDOM = np.random.default_rng(11)


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def line_of(text):
    """The number of the first line of this file that contains a text."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def layer(weights, x):
    hidden = x @ weights["up"]
    hidden = jax.nn.softmax(hidden, axis=-1)
    return hidden @ weights["down"]


WEIGHTS = {"up": floats(64, 96), "down": floats(96, 64)}
PRODUCT = "hidden = x @ weights"


class Explain(unittest.TestCase):
    def test_kernels_have_emitters_times_and_lines(self):
        explanation = fusebox.explain(jax.jit(layer), WEIGHTS, floats(32, 64))
        self.assertGreaterEqual(len(explanation.kernels), 3)
        first = next(kernel for kernel in explanation.kernels if str(line_of(PRODUCT)) in "".join(kernel.lines))
        self.assertEqual(first.emitter, "contraction")
        self.assertIn(f"{__file__}:{line_of(PRODUCT)}", first.lines)
        self.assertGreater(first.predicted_us, 0)
        self.assertTrue(0 < first.of_roof <= 1.0, first)
        text = str(explanation)
        self.assertIn(f"{HERE}:{line_of(PRODUCT)}", text)
        self.assertIn("contraction", text)
        self.assertEqual(repr(explanation), text)
        self.assertTrue(explanation._repr_html_().startswith("<iframe srcdoc="))
        self.assertIn("<svg", explanation.html)
        self.assertIn(first.fusion, explanation.html)

    def test_details_of_a_fusion(self):
        x = floats(32, 64)
        everything = fusebox.explain(layer, WEIGHTS, x, all=True)
        name = everything.kernels[0].fusion
        one = fusebox.explain(layer, WEIGHTS, x, fusion=name)
        self.assertEqual([kernel.fusion for kernel in one.kernels], [name])
        self.assertIn("declines", str(one))
        self.assertGreater(len(str(everything)), len(str(one)))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "no fusion matches `nothing`; the fusions are: "):
            fusebox.explain(layer, WEIGHTS, x, fusion="nothing")

    def test_options_of_the_function_and_of_the_call(self):
        x = floats(32, 64)
        jitted = jax.jit(layer, compiler_options={"fusebox.emitter": "contraction=loop"})
        self.assertNotIn("contraction", {kernel.emitter for kernel in fusebox.explain(jitted, WEIGHTS, x).kernels})
        other = fusebox.explain(layer, WEIGHTS, x, compiler_options={"fusebox.emitter": "contraction=loop"})
        self.assertNotIn("contraction", {kernel.emitter for kernel in other.kernels})

    def test_static_and_unused_arguments(self):
        def function(x, n, unused, *, mode):
            return x * n if mode == "times" else x + n

        jitted = jax.jit(function, static_argnums=(1,), static_argnames=("mode",))
        explanation = fusebox.explain(jitted, floats(8), 3, floats(2), mode="times")
        self.assertEqual(len(explanation.kernels), 1)


class Profile(unittest.TestCase):
    def test_steps_of_all_executions(self):
        step = jax.jit(layer)
        x = floats(32, 64)
        expected = step(WEIGHTS, x)
        other = jax.jit(lambda x: jnp.sin(x) * 2)
        with fusebox.profile() as profile:
            self.assertEqual(str(profile), "the profile has not ended")
            with self.assertRaisesRegex(RuntimeError, "has not ended"):
                profile.save("trace.json")
            for _ in range(5):
                result = step(WEIGHTS, x)
            other(x)
        np.testing.assert_array_equal(result, expected)
        of_layer = [it for it in profile.steps if it.program == "jit_layer"]
        self.assertEqual({it.calls for it in of_layer}, {5})
        self.assertGreaterEqual(len(of_layer), 3)
        product = next(it for it in of_layer if it.by.startswith("contraction"))
        self.assertTrue(any(it.startswith(f"{__file__}:") for it in product.lines), product)
        self.assertGreater(product.us, 0)
        self.assertAlmostEqual(sum(it.share for it in profile.steps), 1, 5)
        text = str(profile)
        self.assertIn("jit_layer: ", text)
        self.assertIn(f"{HERE}:", text)
        self.assertIn("6 runs", text)
        self.assertIn("<svg", profile.html)

        with tempfile.TemporaryDirectory() as folder:
            profile.save(os.path.join(folder, "trace.json"))
            profile.save(os.path.join(folder, "profile.html"))
            trace = json.loads(pathlib.Path(folder, "trace.json").read_text())
            self.assertIn("<svg", pathlib.Path(folder, "profile.html").read_text())
        events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        runs = [event for event in events if event["cat"] == "run"]
        self.assertEqual([run["name"] for run in runs].count("jit_layer"), 5)
        steps = [event for event in events if event["name"] == product.name]
        self.assertEqual(len(steps), 5)
        self.assertIn(f"{HERE}:", steps[0]["args"]["line"])
        for step_, run in zip(steps, runs):
            self.assertGreaterEqual(step_["ts"], run["ts"])
            self.assertLessEqual(step_["ts"] + step_["dur"], run["ts"] + run["dur"] + 1e-3)

    def test_only_executions_inside_are_measured(self):
        function = jax.jit(lambda x: x * 3)
        x = jnp.ones(5)
        function(x)
        with fusebox.profile() as profile:
            pass
        function(x)
        self.assertEqual((profile.runs, profile.steps), (0, []))

    def test_one_profile_at_a_time(self):
        with fusebox.profile() as outer:
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "FAILED_PRECONDITION: a profile is being recorded"):
                with fusebox.profile():
                    pass
            jax.jit(lambda x: x - 1)(jnp.ones(3))
        self.assertGreaterEqual(outer.runs, 1)

    def test_donation_callbacks_loops_and_errors(self):
        def fail(_):
            raise ValueError("this callback fails")

        failing = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
        calling = jax.jit(lambda x: jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
        loop = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda _, y: jnp.sort(jnp.sin(y)), x))
        add = jax.jit(lambda a, b: a + b, donate_argnums=0)
        a, x = jnp.arange(1024.0), jnp.ones(64)
        with fusebox.profile() as profile:
            np.testing.assert_allclose(calling(x), np.sin(np.ones(64)), 1e-6)
            np.testing.assert_array_equal(add(a, jnp.ones(1024)), np.arange(1.0, 1025.0))
            loop(x)
            with self.assertRaisesRegex(Exception, "this callback fails"):
                jax.block_until_ready(failing(x))
        self.assertTrue(a.is_deleted())
        sorting = next(step for step in profile.steps if step.by == "host routine (sort)")
        self.assertEqual(sorting.calls, 50)
        self.assertIn(f"{__file__}:{line_of('fori_loop(0, ' + '50')}", sorting.lines)


class Ab(unittest.TestCase):
    def test_two_choices_of_emitters(self):
        x = floats(64, 64)
        comparison = fusebox.ab(layer, (WEIGHTS, x), a={}, b={"fusebox.emitter": "contraction=loop"}, pairs=3)
        self.assertEqual(comparison.report["a"], "what fusebox chooses")
        self.assertEqual(comparison.report["b"], "contraction=loop")
        self.assertFalse(comparison.is_wrong)
        self.assertIn(comparison.verdict, ("faster", "slower", "same", "ambiguous"))
        low, ratio, high = comparison.ratio
        self.assertTrue(low <= ratio <= high)
        kernels = [kernel.split()[0] for kernel in comparison.report["program"]["b"]["kernels"]]
        self.assertNotIn("contraction", kernels)
        self.assertTrue(comparison.report["fusions"], "kernels that differ are compared alone")
        self.assertIn("both right", str(comparison))
        self.assertIn("<svg", comparison.html)
        self.assertNotIn("Kernels by stage", comparison.html)

    def test_the_arguments_are_the_inputs(self):
        # A loop runs as often as the argument says, so that the time tells whether it was the
        # input.
        def function(n, x):
            return jax.lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.sort(s[1]) * 0.5), (0, x))[1]

        x = floats(256)
        times = []
        for n in (1, 400):
            comparison = fusebox.ab(function, (n, x), a={}, b={}, pairs=2)
            times.append(comparison.report["program"]["measured"][0]["a_us"]["median"])
        self.assertGreater(times[1], 20 * times[0])

    def test_differences_that_cannot_be_compared(self):
        x = floats(8)
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "fusebox.target must be the same for both sides"):
            fusebox.ab(jnp.sin, (x,), a={}, b={"fusebox.target": "simt"})
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "No such compile option: 'xla_flag'"):
            fusebox.ab(jnp.sin, (x,), a={}, b={"xla_flag": 1})
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "no-such-emitter"):
            fusebox.ab(jnp.sin, (x,), a={}, b={"fusebox.emitter": "loop=no-such-emitter"})


class Tune(unittest.TestCase):
    def test_choices_are_stored_and_used(self):
        def function(x, y):
            return jnp.transpose(x) @ y + 1.0

        x, y = floats(48, 40), floats(48, 56)
        jitted = jax.jit(function)
        before = jitted(x, y)
        tuning = fusebox.tune(jitted, (x, y))
        self.assertTrue(tuning.choices)
        self.assertTrue(all(it.origin == "measured" for it in tuning.choices), tuning.choices)
        self.assertIn(_CACHE.name, tuning.database)
        self.assertTrue(pathlib.Path(tuning.database).exists())
        self.assertIn("fusions, 0 of them known", str(tuning))
        self.assertIn("<table>", tuning._repr_html_())
        again = fusebox.tune(jitted, (x, y))
        self.assertTrue(all(it.origin == "known" for it in again.choices), again.choices)
        np.testing.assert_allclose(jitted(x, y), before, 1e-4, 1e-4)
        # The choices decide in later compilations.
        changed = [it for it in tuning.choices if it.chosen != it.instead_of and not it.details["question"].startswith("cut")]
        explained = fusebox.explain(jitted, x, y, all=True)
        for choice in changed:
            self.assertIn(f"tuned: `fusebox tune` chose `{choice.chosen}`", str(explained))

    def test_the_next_call_compiles_again(self):
        function = jax.jit(lambda x: jnp.cumsum(jnp.sort(x)) * 2)
        x = floats(100)
        before = function(x)
        self.assertEqual(function._cache_size(), 1)
        fusebox.tune(function, (x,))
        self.assertEqual(function._cache_size(), 0)
        np.testing.assert_allclose(function(x), before, 1e-5, 1e-5)

    def test_the_simulator_is_not_timed(self):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "times on the simulator say nothing"):
            fusebox.tune(jnp.sin, (floats(3),), compiler_options={"fusebox.target": "simt"})


class Errors(unittest.TestCase):
    def test_unknown_options_have_the_words_of_xla(self):
        for name in ("xla_embed_ir_in_executable", "no_such_option", "fusebox.no_such_option"):
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, f"No such compile option: '{name}'"):
                jax.jit(lambda x: x + 1, compiler_options={name: True})(1.0)

    def test_compile_errors_name_the_line_of_python(self):
        def function(x):
            y = jnp.sin(x)
            return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct(y.shape, y.dtype))(y)

        line = line_of('jax.ffi.ffi_call("no_such' + "_target")
        pattern = f"(?s){HERE}:{line}: .*no_such_target"
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, pattern):
            jax.jit(function)(jnp.ones(3))
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, pattern):
            fusebox.explain(function, jnp.ones(3))

    def test_an_emitter_that_cannot_be_loaded(self):
        with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "missing.so"):
            jax.jit(lambda x: x + 1, compiler_options={"fusebox.emitter": "loop=./missing.so"})(1.0)

    def test_the_environment_is_read_for_each_program(self):
        os.environ["FUSEBOX_TARGET"] = "no-such-target"
        try:
            with self.assertRaisesRegex(jax.errors.JaxRuntimeError, "unknown target `no-such-target`"):
                jax.jit(lambda x: x + 4711)(1.0)
        finally:
            del os.environ["FUSEBOX_TARGET"]
        self.assertEqual(float(jax.jit(lambda x: x + 4711)(1.0)), 4712)

    def test_results_that_are_arguments_are_copies(self):
        x = jnp.arange(2048.0)
        first, second = jax.jit(lambda x: (x, x))(x)
        pointers = {array.unsafe_buffer_pointer() for array in (x, first, second)}
        self.assertEqual(len(pointers), 3)
        np.testing.assert_array_equal(first, np.arange(2048.0))
        place = x.unsafe_buffer_pointer()
        moved = jax.jit(lambda x: x, donate_argnums=0)(x)
        self.assertEqual(moved.unsafe_buffer_pointer(), place)


class Progress(unittest.TestCase):
    # Each round of the product has other constants, so that the program has many kernels.
    PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
def f(x):
    for n in range({count}):
        x = jnp.tanh(x @ x) + jnp.sort(x * n, axis=n % 2) / (1 + n)
    return x
jax.jit(f).lower(jax.ShapeDtypeStruct((64, 64), np.float32)).compile()
"""

    def lines(self, count, **variables):
        command = [sys.executable, "-c", "import fusebox_jax; fusebox_jax.initialize()\n" + self.PROGRAM.format(count=count)]
        ended = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=True)
        return [line for line in ended.stderr.splitlines() if line.startswith("fusebox: compiling: ")]

    def test_long_compilations_show_progress_on_demand(self):
        self.assertEqual(self.lines(2, FUSEBOX_PROGRESS="1"), [])
        lines = self.lines(600, FUSEBOX_PROGRESS="1")
        self.assertTrue(lines)
        for line in lines:
            self.assertRegex(line, r"^fusebox: compiling: ((pass|kernel) \d+ of \d+.*)?$")


class Package(unittest.TestCase):
    def test_the_import_is_fast(self):
        """The package takes less than 50 ms beside JAX."""
        command = [sys.executable, "-X", "importtime", "-c", "import jax, fusebox_jax"]
        ended = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True, check=True)
        last = [line for line in ended.stderr.splitlines() if line.endswith(" fusebox_jax")][-1]
        self.assertLess(int(last.split("|")[1]), 50_000)

    def test_names(self):
        for name in ("ab", "explain", "profile", "tune"):
            self.assertIn(name, dir(fusebox))
            self.assertTrue(getattr(fusebox, name).__doc__)
        with self.assertRaises(AttributeError):
            fusebox.no_such_name


@unittest.skipUnless(os.environ.get("FUSEBOX_TEST_ATTENTION"), "FUSEBOX_TEST_ATTENTION names no library")
class Attention(unittest.TestCase):
    """The emitter of examples/attention-emitter, which fusebox does not know."""

    OPTIONS = {"fusebox.load": os.environ.get("FUSEBOX_TEST_ATTENTION", "")}

    @staticmethod
    def layer(weights, x):
        heads = (x.shape[0], x.shape[1], 4, -1)
        query, key, value = (jnp.reshape(part, heads) for part in jnp.split(x @ weights["in"], 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(query.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e30)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value)
        return jnp.reshape(mixed, x.shape) @ weights["out"]

    def test_attention_becomes_one_kernel(self):
        weights, x = {"in": floats(64, 192) / 8, "out": floats(64, 64) / 8}, floats(2, 48, 64)
        usual = fusebox.explain(self.layer, weights, x)
        with_emitter = fusebox.explain(self.layer, weights, x, compiler_options=self.OPTIONS)
        names = [kernel.emitter for kernel in with_emitter.kernels]
        self.assertEqual(names.count("online-attention"), 1, names)
        self.assertNotIn("online-attention", [kernel.emitter for kernel in usual.kernels])
        self.assertLess(len(with_emitter.kernels), len(usual.kernels))
        expected = jax.jit(self.layer)(weights, x)
        result = jax.jit(self.layer, compiler_options=self.OPTIONS)(weights, x)
        np.testing.assert_allclose(result, expected, 2e-5, 2e-5)
        again = fusebox.explain(self.layer, weights, x)
        self.assertEqual([it.details for it in again.kernels], [it.details for it in usual.kernels])

    def test_exchanged_emitters_are_measured(self):
        weights, x = {"in": floats(64, 192) / 8, "out": floats(64, 64) / 8}, floats(2, 48, 64)
        comparison = fusebox.ab(self.layer, (weights, x), a={}, b=self.OPTIONS, pairs=2)
        self.assertFalse(comparison.is_wrong)
        self.assertIn("load=", comparison.report["b"])
        kernels = comparison.report["program"]["b"]["kernels"]
        self.assertEqual(sum(it.startswith("online-attention") for it in kernels), 1)


if __name__ == "__main__":
    unittest.main()
