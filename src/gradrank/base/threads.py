"""The number of threads with which models are trained and scored.

One thread is the default, because more threads split a sum at other places, which changes last digits. The workflow
runs jobs in parallel instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_count: ContextVar[int] = ContextVar("gradrank_threads", default=1)


def thread_count() -> int:
    """Return the number of threads to pass to a library with a parameter for this number, such as LightGBM."""
    return _count.get()


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Limit the numeric libraries to `count` threads within the block. Afterwards, the earlier limits apply again."""
    from threadpoolctl import threadpool_limits

    token = _count.set(count)
    try:
        with threadpool_limits(count):
            yield
    finally:
        _count.reset(token)
