"""Calls of Python functions by compiled programs.

A program contains a custom call with the number of a function. The library calls one C function
for all of them, with this number and with the memory of operands and results.
"""

from __future__ import annotations

import ctypes
import itertools
import traceback
import weakref

import numpy as np

# Name of the custom call.
TARGET = "fusebox_python_callback"

# Largest number of bytes of a message of an error.
_MOST_MESSAGE = 1 << 16


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


_TRAMPOLINE = ctypes.CFUNCTYPE(
    ctypes.c_size_t,
    ctypes.c_uint64,
    ctypes.POINTER(_Array),
    ctypes.c_size_t,
    ctypes.POINTER(_Array),
    ctypes.c_size_t,
    ctypes.c_void_p,
    ctypes.c_size_t,
)

_numbers = itertools.count()
_functions: weakref.WeakValueDictionary[int, Function] = weakref.WeakValueDictionary()


class Function:
    """A Python function that programs call. It is known as long as this object lives.

    `canonical` converts a result to the type that JAX gives it.
    """

    def __init__(self, function, operand_avals, result_avals, canonical):
        self.number = next(_numbers)
        self._function = function
        self._canonical = canonical
        self._operands = [(aval.shape, np.dtype(aval.dtype)) for aval in operand_avals]
        self._results = [(aval.shape, np.dtype(aval.dtype)) for aval in result_avals]
        _functions[self.number] = self

    def __call__(self, *arguments):
        return self._function(*arguments)

    def run(self, operands, results) -> None:
        """Calls the function with copies of the operands, and writes the results to their memory."""
        arguments = [_array(memory, *kind).copy() for memory, kind in zip(operands, self._operands, strict=True)]
        values = self._function(*arguments)
        if len(values) != len(self._results):
            raise RuntimeError(
                "Mismatched number of outputs from callback. "
                f"Expected: {len(self._results)}, Actual: {len(values)}"
            )
        values = [self._canonical(np.asarray(value)) for value in values]
        for number, (value, (shape, dtype)) in enumerate(zip(values, self._results)):
            if value.shape != shape:
                raise RuntimeError(
                    f"Incorrect output shape for return value #{number}: Expected: {shape}, Actual: {value.shape}"
                )
            if value.dtype != dtype:
                raise RuntimeError(
                    f"Incorrect output dtype for return value #{number}: Expected: {dtype}, Actual: {value.dtype}"
                )
        for value, memory, kind in zip(values, results, self._results, strict=True):
            _array(memory, *kind)[...] = value


def _array(memory: _Array, shape, dtype) -> np.ndarray:
    """Returns the array in memory of a program."""
    count = int(np.prod(shape, dtype=np.int64))
    if count == 0:
        return np.zeros(shape, dtype)
    raw = (ctypes.c_char * (count * dtype.itemsize)).from_address(memory.data)
    return np.frombuffer(raw, dtype, count).reshape(shape)


@_TRAMPOLINE
def _trampoline(number, operands, operand_count, results, result_count, message, capacity) -> int:
    """Calls a function. Returns the length of the error's message, or 0."""
    try:
        function = _functions.get(number)
        if function is None:
            raise RuntimeError(f"the program calls the Python function {number}, which no longer exists")
        function.run(
            [operands[at] for at in range(operand_count)],
            [results[at] for at in range(result_count)],
        )
        return 0
    except BaseException:  # The caller is compiled code, which cannot pass an exception on.
        text = traceback.format_exc().encode(errors="replace")[: min(capacity, _MOST_MESSAGE)] or b"?"
        ctypes.memmove(message, text, len(text))
        return len(text)


def install(library: str) -> None:
    """Tells the library to call functions of this process."""
    opened = ctypes.CDLL(library)
    opened.FuseboxSetPythonCallback.argtypes = [_TRAMPOLINE]
    opened.FuseboxSetPythonCallback.restype = None
    opened.FuseboxSetPythonCallback(_trampoline)
