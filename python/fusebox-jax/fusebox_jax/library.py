"""Calls of the library's tools: a request in JSON, a program, arrays; the reply is JSON."""

from __future__ import annotations

import ctypes
import functools
import json

import jax
import numpy as np

import fusebox_jax

# Names of the codes of errors, as in the messages of JAX.
_CODES = {
    3: "INVALID_ARGUMENT",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
}


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Call(ctypes.Structure):
    _fields_ = [
        ("request", _Bytes),
        ("program", _Bytes),
        ("arrays", ctypes.POINTER(_Bytes)),
        ("count", ctypes.c_size_t),
    ]


class _Reply(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("text", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@functools.cache
def _library() -> ctypes.CDLL:
    path = fusebox_jax.library_path()
    if path is None:
        raise RuntimeError("fusebox has no library; build it and set FUSEBOX_PJRT_LIBRARY to its path")
    library = ctypes.CDLL(str(path))
    for name in ("Explain", "BeginProfile", "EndProfile", "Ab", "Tune"):
        function = getattr(library, f"Fusebox{name}")
        function.argtypes, function.restype = [ctypes.POINTER(_Call), ctypes.POINTER(_Reply)], None
    library.FuseboxFree.argtypes, library.FuseboxFree.restype = [ctypes.POINTER(_Reply)], None
    library.FuseboxInterrupt.argtypes, library.FuseboxInterrupt.restype = [], None
    return library


def _of_bytes(data: bytes) -> _Bytes:
    return _Bytes(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))


def call(tool: str, request: dict | None = None, program: bytes = b"", arrays: list[np.ndarray] = ()) -> dict:
    """Calls a tool. Other threads of Python run meanwhile."""
    library = _library()
    text = json.dumps(request or {}).encode()
    views = (_Bytes * len(arrays))(*(_Bytes(array.ctypes.data, array.nbytes) for array in arrays))
    reply = _Reply()
    arguments = _Call(_of_bytes(text), _of_bytes(program), views, len(arrays))
    getattr(library, f"Fusebox{tool}")(ctypes.byref(arguments), ctypes.byref(reply))
    try:
        answer = ctypes.string_at(reply.text, reply.length).decode()
    finally:
        library.FuseboxFree(ctypes.byref(reply))
    if reply.code:
        raise jax.errors.JaxRuntimeError(f"{_CODES.get(reply.code, 'UNKNOWN')}: {answer}")
    return json.loads(answer)


def interrupt() -> None:
    """Ends the tuning of another thread after its current measurement."""
    _library().FuseboxInterrupt()
