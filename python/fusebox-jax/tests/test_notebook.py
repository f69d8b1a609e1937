"""Executes `examples/jax/tour.ipynb`, and compares its outputs with the stored ones."""

import os
import pathlib
import re
import tempfile
import unittest

os.environ["JAX_PLATFORMS"] = "fusebox,cpu"

import fusebox_jax  # noqa: E402

fusebox_jax.initialize()

import notebooks  # noqa: E402

TOUR = pathlib.Path(__file__).resolve().parents[3] / "examples" / "jax" / "tour.ipynb"


def words(outputs):
    """The words of the outputs. Times differ from run to run, and so do the verdicts about them."""
    text = "".join("".join(output.get("text") or output["data"]["text/plain"]) for output in outputs)
    return set(re.findall(r"[A-Za-z_]{4,}", text))


class Tour(unittest.TestCase):
    def test_the_notebook_does_what_it_shows(self):
        notebook = notebooks.read(TOUR)
        with tempfile.TemporaryDirectory() as cache:
            before = os.environ.get("XDG_CACHE_HOME")
            os.environ["XDG_CACHE_HOME"] = cache
            try:
                found = notebooks.execute(notebook)
            finally:
                if before is None:
                    del os.environ["XDG_CACHE_HOME"]
                else:
                    os.environ["XDG_CACHE_HOME"] = before
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertGreaterEqual(sum("text/html" in str(cell["outputs"]) for cell in cells), 3, "pictures are stored")
        for cell, outputs in zip(cells, found, strict=True):
            stored, source = cell["outputs"], "".join(cell["source"])
            kinds = [[(it["output_type"], sorted(it.get("data", []))) for it in each] for each in (stored, outputs)]
            self.assertEqual(*kinds, source)
            before, now = words(stored), words(outputs)
            self.assertGreaterEqual(len(before & now), 0.6 * len(before | now), f"{source}\n{before ^ now}")


if __name__ == "__main__":
    unittest.main()
