"""The parameters without which chunkers cannot be tested: models, and settings that keep texts verbatim."""

from importlib import import_module

from algorithms import ALGORITHMS


def load(name):
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)()


STAND_INS = {
    name: {parameter: load(model) for parameter, model in algorithm.models.items()} | dict(algorithm.verbatim)
    for name, algorithm in ALGORITHMS.items()
    if algorithm.models or algorithm.verbatim
}
