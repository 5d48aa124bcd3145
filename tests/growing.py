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
        measured = []
        for _ in range(TRIES):  # each compares two neighbors, so that what slows a machine for seconds slows both
            large = seconds_per_call(lambda: process(large_text), 1)
            if large <= FLOOR:
                return
            small = seconds_per_call(lambda: process(small_text), 4)
            if large < most * small:
                return
            measured.append(f"{large:.3f} and {small:.3f}")
        pytest.fail(f"lengths of {times * length} and {length} take {', '.join(measured)} s")
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
    if bent:
        pytest.fail("\n".join(f"{name} {reason}" for name, reason in bent.items()))


def seconds_per_call(call, repeat):
    """Return the mean processor time of several calls."""
    start = time.process_time()
    for _ in range(repeat):
        call()
    return (time.process_time() - start) / repeat
