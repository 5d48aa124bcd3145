"""A rolling key-value cache for texts longer than the context of a language model."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from advchunk.errors import import_extra
from advchunk.models.tokens import TokenReader

SINKS = 4  # attention sinks: first tokens that are never evicted (Xiao et al. 2024, table 2)
_PROBES = 8  # tokens that positions are probed with
_TOLERANCE = 0.05  # of a vector's length: above bfloat16's rounding, far below the error of a wrong rotation


class Rotation(NamedTuple):
    """The rotary position embedding of a layer: pairs of coordinates rotate at ``frequencies``, in radians."""

    frequencies: Any
    interleaved: bool  # pairs are adjacent, else half the width apart

    def __call__(self, keys: Any, by: int) -> Any:
        """Return (b, h, t, d) keys moved ``by`` positions."""
        torch = import_extra("torch", "transformers")
        angle = by * self.frequencies.to(keys.device, torch.float32)
        cos, sin, width = angle.cos(), angle.sin(), 2 * len(angle)
        rotary = keys[..., :width].float()
        a, b = (rotary[..., 0::2], rotary[..., 1::2]) if self.interleaved else rotary.chunk(2, dim=-1)
        halves = [a * cos - b * sin, a * sin + b * cos]
        rotated = torch.stack(halves, dim=-1).flatten(-2) if self.interleaved else torch.cat(halves, dim=-1)
        return torch.cat([rotated.to(keys.dtype), keys[..., width:]], dim=-1)


class Window:
    """Reads a text in blocks, keeps keys and values of ``context`` tokens, and evicts the oldest ``evict`` of them, 0..1."""

    def __init__(self, reader: TokenReader, context: int, evict: float) -> None:
        torch = import_extra("torch", "transformers")
        self._reader, self._context, self._evict = reader, context, evict
        self._cache: Any = None
        self._tokens = torch.empty(0, dtype=torch.long)

    def read(self, tokens: Any) -> Any:
        """Return the (t, v) logits after each of (t,) tokens, given those in the window."""
        torch = import_extra("torch", "transformers")
        unread, size = tokens, len(self._tokens)
        if size + len(tokens) > self._context:
            keep = min(int(size * (1 - self._evict)), self._context - len(tokens))
            unread = torch.cat([self._shrink(keep), tokens])
        self._tokens = torch.cat([self._tokens, tokens])
        logits, self._cache = self._reader.run(unread[None], self._cache, len(tokens))
        return logits[0]

    def _shrink(self, keep: int) -> Any:
        """Evict all but ``keep`` tokens; return those of them that must be read again."""
        torch = import_extra("torch", "transformers")
        lead = len(self._reader.lead)
        evicted = len(self._tokens) - keep
        rotations = key_rotations(self._reader, self._context)
        if rotations is None:
            self._tokens = torch.cat([self._tokens[:lead], self._tokens[len(self._tokens) - max(keep - lead, 0) :]])
            self._cache = None
            return self._tokens
        sinks = min(max(SINKS, lead), keep)
        rest = slice(sinks + evicted, None)
        for layer, rotation in zip(self._cache.layers, rotations, strict=True):
            keys = layer.keys[..., rest, :]
            keys = keys if rotation is None else rotation(keys, -evicted)
            layer.keys = torch.cat([layer.keys[..., :sinks, :], keys], dim=-2)
            layer.values = torch.cat([layer.values[..., :sinks, :], layer.values[..., rest, :]], dim=-2)
        self._tokens = torch.cat([self._tokens[:sinks], self._tokens[rest]])
        return self._tokens[:0]


def key_rotations(reader: TokenReader, context: int) -> Sequence[Rotation | None] | None:
    """Return the rotation of each layer's keys by position, None for a layer without one; None if unknown.

    Determined by experiment, so that it works for any model: some tokens are read at the start and at the end of the
    context.
    """
    if context not in reader.rotations:
        reader.rotations[context] = _probe(reader, context)
    rotations: Sequence[Rotation | None] | None = reader.rotations[context]
    return rotations


def _probe(reader: TokenReader, context: int) -> Sequence[Rotation | None] | None:
    torch, model = import_extra("torch", "transformers"), reader.model
    frequencies = list[Any]()
    for name, buffer in model.named_buffers():
        if name.endswith("inv_freq") and not any(torch.equal(buffer, other) for other in frequencies):
            frequencies.append(buffer)
    if not frequencies:
        return None
    candidates = [None, *(Rotation(buffer, interleaved) for buffer in frequencies for interleaved in (False, True))]
    by = context - _PROBES
    tokens = torch.arange(_PROBES, device=model.device)[None]
    outputs = (model(input_ids=tokens, position_ids=tokens + start, use_cache=True) for start in (0, by))
    near, far = (output.past_key_values for output in outputs)
    if not is_plain_cache(near):
        return None
    rotations = list[Rotation | None]()
    for start, end in zip(near.layers, far.layers, strict=True):
        keys, moved = start.keys.float(), end.keys.float()
        fitting = [candidate for candidate in candidates if _fits(candidate, keys, moved, by)]
        if not fitting:
            return None
        rotations.append(fitting[0])
    return rotations


def _fits(rotation: Rotation | None, keys: Any, moved: Any, by: int) -> bool:
    if rotation is not None and 2 * len(rotation.frequencies) > keys.shape[-1]:
        return False
    keys = keys if rotation is None else rotation(keys, by)
    return bool((keys - moved).norm() <= _TOLERANCE * moved.norm())


def is_plain_cache(cache: Any) -> bool:
    """Return True if every layer holds the keys and values of all tokens, and nothing else."""
    dynamic = import_extra("transformers", "transformers").cache_utils.DynamicLayer
    return all(type(layer) is dynamic for layer in getattr(cache, "layers", [None]))


def copy_prefix(cache: Any, length: int, rows: int) -> Any:
    """Return the cache of the first ``length`` tokens of a plain cache, repeated for ``rows`` rows."""
    copy = import_extra("transformers", "transformers").DynamicCache()
    for i, layer in enumerate(cache.layers):
        keys, values = (tensor[..., :length, :].expand(rows, -1, -1, -1) for tensor in (layer.keys, layer.values))
        copy.update(keys, values, i)
    return copy
