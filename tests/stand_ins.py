"""The parameters without which chunkers cannot be tested: models, and settings that keep texts verbatim; a tokenizer."""

import re
from importlib import import_module

from algorithms import ALGORITHMS


def merging(text):
    """Count like a BPE: a longer text can have fewer tokens, and counts do not add up."""
    return len(re.findall(r"cat dog|do|\. |[\s\S]", text))


def load(name):
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)()


STAND_INS = {
    name: {parameter: load(model) for parameter, model in algorithm.models.items()} | dict(algorithm.verbatim)
    for name, algorithm in ALGORITHMS.items()
    if algorithm.models or algorithm.verbatim
}
