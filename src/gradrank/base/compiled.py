"""The decorator for functions that Numba compiles.

If two processes compile different signatures of one cached function at the same time, each overwrites the other's
files in Numba's cache. Therefore each cached function has exactly one signature. Only functions that Python calls are
cached.
"""

import sys
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from typing import Any, NamedTuple

import numpy as np

from gradrank.base import processor

FEW = 50_000  # elements that Python handles in less time than the import of Numba takes


def compiled(
    signature: str | None = None, *, nogil: bool = False, reassociated: bool = False, interpreted: int = 0
) -> "Callable[[Callable], CompiledFunction]":
    """Return a decorator that compiles a function at its first call.

    signature: the types of the parameters, for a function that Python calls, such as "f8[:], i8[:], f8, f8[:,:] out".
    A type is a type code of NumPy, with one `:` per dimension of an array. The function writes to arrays marked `out`
    and only reads the other arrays. The machine code of a function with a signature is cached on disk. Arguments of
    other types are converted if no digit is lost. Otherwise the function is compiled for these types, and this machine
    code is not cached. A function without a signature is compiled together with each function that calls it.
    nogil: if True, other threads can run during the call. reassociated: if True, the compiler may change the order of
    additions to use wide registers. The order depends only on the instruction set. interpreted: the number of array
    elements that Python handles before the function is compiled, as long as nothing has imported Numba, because this
    import takes 0.5 s. Give it only to functions that add, multiply, divide, compare and copy, whose results are then
    equal.

    The function may only use constants of files that contain compiled functions, because the digest of the cache folder
    covers only these files.
    """
    parameters = None if signature is None else [Parameter.of(text.strip()) for text in signature.split(", ")]
    options = {"nogil": nogil, "fastmath": {"reassoc"} if reassociated else False}
    return lambda function: CompiledFunction(function, parameters, options, interpreted)


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

    def __init__(
        self, function: Callable, parameters: list[Parameter] | None, options: dict, interpreted: int = 0
    ) -> None:
        update_wrapper(self, function)
        self.function = function
        self.parameters, self.options, self.interpreted = parameters, options, interpreted

    def __call__(self, *arguments: Any) -> Any:
        is_loaded = "numba" in sys.modules
        if self.parameters is None and not is_loaded:  # the caller is an interpreted function
            return self.function(*arguments)
        if self.parameters is not None:
            converted = [p.converted(value) for p, value in zip(self.parameters, arguments, strict=True)]
            if all(value is not None for value in converted):
                self.interpreted -= max(map(np.size, converted))
                return self.function(*converted) if self.interpreted >= 0 and not is_loaded else self.entry(*converted)
        return self.inner(*arguments)

    @cached_property
    def entry(self) -> Callable:
        """The compiled function for calls from Python, with one signature. Its machine code is cached on disk."""
        types = tuple(parameter.numba_type() for parameter in self.parameters or ())
        folder, config = processor.cache_folder(), numba().config
        before = config.CACHE_DIR
        config.CACHE_DIR = "" if folder is None else str(folder)
        try:
            return numba().njit(types, cache=folder is not None, **self.options)(self.function)
        finally:
            config.CACHE_DIR = before  # the caller's own functions are cached where the caller expects them

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
