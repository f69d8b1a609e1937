"""Makes fusebox a backend of JAX, under the platform name "fusebox".

JAX calls `initialize` at the first use of a backend, for every program in the environment in which
this package is installed. So the function does little, and a fault in it must not hurt programs
that do not use fusebox.

    import fusebox_jax as fusebox

    fusebox.explain(step, state, batch)         # which emitter builds each kernel, and why
    with fusebox.profile() as profile:          # the time of each step of all executions
        step(state, batch)
    fusebox.ab(step, (state, batch), a={}, b={"fusebox.emitter": "loop=./libmy_emitter.so"})
    fusebox.tune(step, (state, batch))          # the fastest emitter of each fusion, for later compilations
"""

from __future__ import annotations

import logging
import os
import pathlib

PLATFORM = "fusebox"

# Names of `workshop`, which is imported when one of them is used.
_WORKSHOP = ("ab", "explain", "profile", "tune")
__all__ = ["PLATFORM", "initialize", "library_path", *_WORKSHOP]

# File name of the library, and the variable that names another file.
_LIBRARY = "libfusebox_pjrt.so"
_VARIABLE = "FUSEBOX_PJRT_LIBRARY"

_logger = logging.getLogger(__name__)


def library_path() -> pathlib.Path | None:
    """Returns the path of the library, or None if there is no library."""
    given = os.environ.get(_VARIABLE)
    path = pathlib.Path(given) if given else pathlib.Path(__file__).parent / _LIBRARY
    return path if path.is_file() else None


_is_registered = False


def initialize() -> None:
    """Registers the platform with JAX, once."""
    global _is_registered
    if _is_registered:
        return
    path = library_path()
    if path is None:
        _logger.warning("fusebox: there is no %s; build it and set %s to its path", _LIBRARY, _VARIABLE)
        return

    from jax._src import xla_bridge

    xla_bridge.register_plugin(PLATFORM, library_path=str(path))
    _is_registered = True

    from fusebox_jax import private

    private.adapt(PLATFORM, str(path))


def __getattr__(name: str):
    if name in _WORKSHOP:
        from fusebox_jax import workshop

        return getattr(workshop, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_WORKSHOP})
