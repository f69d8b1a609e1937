"""Makes fusebox a backend of JAX, under the platform name "fusebox".

JAX calls `initialize` at the first use of a backend, for every program in the environment in which
this package is installed. So the function does little, and a fault in it must not hurt programs
that do not use fusebox.
"""

from __future__ import annotations

import logging
import os
import pathlib

PLATFORM = "fusebox"

# File name of the library, and the variable that names another file.
_LIBRARY = "libfusebox_pjrt.so"
_VARIABLE = "FUSEBOX_PJRT_LIBRARY"

_logger = logging.getLogger(__name__)


def library_path() -> pathlib.Path | None:
    """Returns the path of the library, or None if there is no library."""
    given = os.environ.get(_VARIABLE)
    path = pathlib.Path(given) if given else pathlib.Path(__file__).parent / _LIBRARY
    return path if path.is_file() else None


def initialize() -> None:
    """Registers the platform with JAX."""
    path = library_path()
    if path is None:
        _logger.warning("fusebox: there is no %s; build it and set %s to its path", _LIBRARY, _VARIABLE)
        return

    from jax._src import xla_bridge

    xla_bridge.register_plugin(PLATFORM, library_path=str(path))

    from fusebox_jax import private

    private.adapt(PLATFORM, str(path))
