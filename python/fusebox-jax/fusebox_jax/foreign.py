"""Registers functions of XLA's interface for foreign functions with the library.

A function is a capsule with the address of a C function, or a dictionary of capsules by stage.
"""

from __future__ import annotations

import ctypes
import logging

# Largest number of bytes of a message of an error.
_MOST_MESSAGE = 1 << 12

_STAGES = ("instantiate", "prepare", "initialize", "execute")

_library: ctypes.CDLL | None = None
_logger = logging.getLogger(__name__)


def install(library: str) -> None:
    """Uses this library for functions that are registered afterwards."""
    global _library
    opened = ctypes.CDLL(library)
    register = opened.FuseboxRegisterForeignFunction
    register.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    register.restype = ctypes.c_size_t
    _library = opened


def register(name: str | bytes, function, api_version: int) -> None:
    """Registers a function. Functions of the older interface, without types, are left out, and
    fusebox refuses a program that calls one of them."""
    name = name.decode() if isinstance(name, bytes) else name
    if api_version != 1:
        return
    capsules = function if isinstance(function, dict) else {"execute": function}
    stages = (ctypes.c_void_p * len(_STAGES))(*(_address(capsules.get(stage)) for stage in _STAGES))
    message = ctypes.create_string_buffer(_MOST_MESSAGE)
    text = name.encode()
    length = _library.FuseboxRegisterForeignFunction(text, len(text), stages, message, _MOST_MESSAGE)
    if length:
        reason = message.raw[:length].decode(errors="replace")
        _logger.warning("fusebox: programs cannot call the foreign function %s: %s", name, reason)


def _address(capsule) -> int | None:
    """Returns the address in a capsule."""
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
