"""A check that time grows in proportion to a text: a ratio of processor times in one process, on a busy machine,
too."""

import gc
import time
from itertools import count

import pytest

LENGTH = 8_000  # characters of the smaller text
TIMES = 4  # as long is the larger one
MOST = 8  # ratio of processor times; proportional growth is 4, growth with the square 16
STRICT = {"times": 8, "most": 12}  # an exponent of 1.2; growth with the square is 64
FLOOR = 0.1  # seconds within which a large text is fast enough
TRIES = 5


def repeated(token):
    """Return a function that makes a text of about a length by repeating a token."""
    return lambda length: token * (length // len(token))


def check_growth(process, make, length=LENGTH, times=TIMES, most=MOST):
    """Fail unless a text of some times the length takes less than ``most`` times as long; the machine may be busy.

    Parameters
    ----------
    process : what takes the time.
    make : makes a text, or whatever else is processed, of a given length.
    length : of the smaller text; with growth by the square, the larger one must take longer than `FLOOR`.
    """
    small_text, large_text = make(length), make(times * length)
    gc.disable()  # its passes over all objects of the test session are not the reader's
    try:
        large = least_seconds(lambda: process(large_text), 1)
        small = float("inf")
        for _ in range(TRIES):
            if large <= FLOOR:
                return
            small = min(small, least_seconds(lambda: process(small_text), 2))
            if large < most * small:
                return
            large = min(large, least_seconds(lambda: process(large_text), 1))
        pytest.fail(f"a length of {times * length} takes {large:.2f} s, one of {length} takes {small:.2f} s")
    finally:
        gc.enable()


def check_shapes(process, shapes, length=LENGTH, **limits):
    """Fail unless the time grows in proportion to each of some texts (`shapes.SHAPES`); name the first three that bend."""
    bent, calls = dict[str, str](), count()
    for name, make in shapes.items():
        try:
            check_growth(lambda text: process(text + " " * (next(calls) % 99)), make, length, **limits)  # no cache
        except pytest.fail.Exception as error:
            bent[name] = str(error)
            if len(bent) == 3:
                break
    assert bent == {}


def least_seconds(call, repeat):
    """Return the shortest processor time of several calls."""
    seconds = []
    for _ in range(repeat):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)
