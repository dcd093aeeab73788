"""The decorator for functions that Numba compiles.

If two processes compile different signatures of one cached function at the same time, each overwrites the other's
files in Numba's cache. Therefore each cached function has exactly one signature. Only functions that Python calls are
cached.
"""

from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, NamedTuple

import numpy as np

from gradrank.base import processor


def compiled(
    signature: str | None = None, *, nogil: bool = False, reassociated: bool = False
) -> "Callable[[Callable], CompiledFunction]":
    """Return a decorator that compiles a function at its first call.

    signature: the types of the parameters, for a function that Python calls, such as "f8[:], i8[:], f8, f8[:,:] out".
    A type is a type code of NumPy, with one `:` per dimension of an array. The function writes to arrays marked `out`
    and only reads the other arrays. The machine code of a function with a signature is cached on disk. Arguments of
    other types are converted if no digit is lost. Otherwise the function is compiled for these types, and this machine
    code is not cached. A function without a signature is compiled together with each function that calls it.
    nogil: if True, other threads can run during the call. reassociated: if True, the compiler may change the order of
    additions to use wide registers. The order depends only on the instruction set.

    The function may only use constants of files that contain compiled functions, because the digest of the cache folder
    covers only these files.
    """
    parameters = None if signature is None else [Parameter.of(text.strip()) for text in signature.split(", ")]
    options = {"nogil": nogil, "fastmath": {"reassoc"} if reassociated else False}
    return lambda function: CompiledFunction(function, parameters, options)


class Parameter(NamedTuple):
    """The type of one parameter: its NumPy type, its number of dimensions, and whether the function writes to it."""

    dtype: np.dtype
    dimensions: int
    is_output: bool

    @classmethod
    def of(cls, text: str) -> "Parameter":
        code, _, shape = text.removesuffix(" out").partition("[")
        return cls(np.dtype(code), shape.count(":"), text.endswith(" out"))

    def numba_type(self) -> Any:
        from numba import from_dtype, types

        element = from_dtype(self.dtype)
        if not self.dimensions:
            return element
        return types.Array(element, self.dimensions, "C", readonly=not self.is_output)

    def converted(self, value: Any) -> Any:
        """Return the argument with the type of the signature, copied if necessary; None if no safe cast exists."""
        if not self.dimensions:
            return value
        array = np.asarray(value)
        if array.ndim != self.dimensions:
            return None
        if array.dtype == self.dtype and array.flags.c_contiguous:
            return array if array.flags.writeable or not self.is_output else None
        if self.is_output or not np.can_cast(array.dtype, self.dtype):
            return None
        return np.ascontiguousarray(array, self.dtype)


class CompiledFunction:
    """A function that Numba compiles at its first call, from Python or from another compiled function."""

    def __init__(self, function: Callable, parameters: list[Parameter] | None, options: dict) -> None:
        update_wrapper(self, function)
        self.function = function
        self.parameters, self.options = parameters, options

    def __call__(self, *arguments: Any) -> Any:
        if self.parameters is not None:
            converted = [p.converted(value) for p, value in zip(self.parameters, arguments, strict=True)]
            if all(value is not None for value in converted):
                return self.entry(*converted)
        return self.inner(*arguments)

    @cached_property
    def entry(self) -> Callable:
        """The compiled function for calls from Python, with one signature. It is cached if the cache folder is set."""
        types = tuple(parameter.numba_type() for parameter in self.parameters or ())
        return numba().njit(types, cache=processor.is_set(), **self.options)(self.function)

    @cached_property
    def inner(self) -> Callable:
        """The compiled function for calls from compiled functions, and for other types. It is never cached."""
        return numba().njit(**self.options)(self.function)


@cache
def numba() -> Any:
    """Import Numba, and teach it that compiled functions may call objects of class CompiledFunction."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(CompiledFunction)
    def _(function: CompiledFunction, context: Any) -> Any:
        return numba.typeof(function.inner)

    return numba
