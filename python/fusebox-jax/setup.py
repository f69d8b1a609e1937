"""Builds the library with cargo and puts it into the package."""

import os
import pathlib
import shutil
import subprocess

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

LIBRARY = "libfusebox_pjrt.so"
ROOT = pathlib.Path(__file__).resolve().parents[2]


def built_library() -> pathlib.Path:
    """Returns the library that FUSEBOX_PJRT_LIBRARY names, or builds one without its symbols."""
    given = os.environ.get("FUSEBOX_PJRT_LIBRARY")
    if given:
        return pathlib.Path(given)
    build = ["cargo", "rustc", "--locked", "--release", "-p", "fusebox-pjrt", "--lib"]
    subprocess.run([*build, "--", "-C", "strip=symbols"], cwd=ROOT, check=True)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / LIBRARY


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        folder = pathlib.Path(self.build_lib) / "fusebox_jax"
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built_library(), folder / LIBRARY)


class BinaryDistribution(Distribution):
    """A package for one kind of machine, because it contains a library."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=BinaryDistribution)
