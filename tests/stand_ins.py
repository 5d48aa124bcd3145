"""What stands in for the models that chunkers cannot do without, so that these are tested as all others are."""

from lm import Words

STAND_INS = {"perplexity": {"lm": Words()}, "margin-sampling": {"lm": Words()}}
