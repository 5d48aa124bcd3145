"""Turn segments into chunks that respect a token budget. The only place that enforces sizes.

Every character is tokenised once, as part of its unit. Where counts add up (see
`models.counters.Counter`) the size of any run of units is then a difference of prefix sums;
for other tokenizers that is the first guess, and a run is counted itself before it is
trusted. Either way the characters tokenised grow linearly with the text.
"""

from advchunk.sizes.chunks import assemble, built, check, gather
from advchunk.sizes.limits import ATOMIC, PROSE, VERBATIM, Limits
from advchunk.sizes.units import fit

__all__ = ["ATOMIC", "PROSE", "VERBATIM", "Limits", "assemble", "built", "check", "fit", "gather"]
