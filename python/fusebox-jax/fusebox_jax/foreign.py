"""Registers functions of XLA's interface for foreign functions with the library.

A function is a capsule with the address of a C function, or a dictionary of capsules by stage.
"""

from __future__ import annotations

import ctypes

# Largest number of bytes of a message of an error.
_MOST_MESSAGE = 1 << 12

_STAGES = ("instantiate", "prepare", "initialize", "execute")

_library: ctypes.CDLL | None = None
_refused: dict[str, str] = {}


def install(library: str) -> None:
    """Uses this library for functions that are registered afterwards."""
    global _library
    opened = ctypes.CDLL(library)
    register = opened.FuseboxRegisterForeignFunction
    register.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
    register.restype = ctypes.c_size_t
    _library = opened


def register(name: str | bytes, function, api_version: int) -> None:
    """Registers a function. Functions of the older interface, without types, are left out: a
    program that calls one of them is refused, and `refusal` says why."""
    name = name.decode() if isinstance(name, bytes) else name
    if api_version != 1:
        _refused[name] = "fusebox calls only functions of XLA's typed interface (api_version 1)"
        return
    capsules = function if isinstance(function, dict) else {"execute": function}
    stages = (ctypes.c_void_p * len(_STAGES))(*(_address(capsules.get(stage)) for stage in _STAGES))
    message = ctypes.create_string_buffer(_MOST_MESSAGE)
    text = name.encode()
    length = _library.FuseboxRegisterForeignFunction(text, len(text), stages, message, _MOST_MESSAGE)
    if length:
        _refused[name] = message.raw[:length].decode(errors="replace")


def refusal(name: str) -> str | None:
    """Returns the reason why a function could not be registered."""
    return _refused.get(name)


def _address(capsule) -> int | None:
    """Returns the address in a capsule."""
    if capsule is None:
        return None
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
