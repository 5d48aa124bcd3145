"""Keys and values of the text that a language model has read last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from advchunk.errors import import_extra
from advchunk.models.reader import Reader

SINKS = 4  # first tokens that are always kept (Xiao et al. 2024, table 2)
_TRIED = 8  # tokens that positions are tried on
_NEAR = 0.05  # of a vector's length: more than bfloat16 rounds, and far less than a wrong turn does


class Turn(NamedTuple):
    """How the keys of a layer depend on positions: pairs of coordinates that turn at ``frequencies``, in radians."""

    frequencies: Any
    interleaved: bool  # pairs stand side by side, else half the width apart

    def __call__(self, keys: Any, by: int) -> Any:
        """Return (b, h, t, d) keys as if they stood ``by`` positions later."""
        torch = import_extra("torch", "transformers")
        angle = by * self.frequencies.to(keys.device, torch.float32)
        cos, sin, width = angle.cos(), angle.sin(), 2 * len(angle)
        turning = keys[..., :width].float()
        if self.interleaved:
            a, b = turning[..., 0::2], turning[..., 1::2]
            turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
        else:
            a, b = turning.chunk(2, dim=-1)
            turned = torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)
        return torch.cat([turned.to(keys.dtype), keys[..., width:]], dim=-1)


class Window:
    """Reads a text block by block, and forgets the oldest share of it whenever the next block would not fit.

    Parameters
    ----------
    context : the most tokens, of which keys and values are held.
    evict : share that is forgotten, 0..1.
    """

    def __init__(self, reader: Reader, context: int, evict: float) -> None:
        torch = import_extra("torch", "transformers")
        self._reader, self._context, self._evict = reader, context, evict
        self._cache: Any = None
        self._held = torch.empty(0, dtype=torch.long)

    def read(self, tokens: Any) -> Any:
        """Return the (t, v) logits after each of (t,) tokens, given those that are held."""
        torch = import_extra("torch", "transformers")
        unread = tokens
        if len(self._held) + len(tokens) > self._context:
            room = self._context - len(tokens)
            unread = torch.cat([self._forget(min(int(len(self._held) * (1 - self._evict)), room)), tokens])
        self._held = torch.cat([self._held, tokens])
        logits, self._cache = self._reader.run(unread[None], self._cache, len(tokens))
        return logits[0]

    def _forget(self, keep: int) -> Any:
        """Forget all but so many tokens; return those of them that have to be read again."""
        torch = import_extra("torch", "transformers")
        sinks = min(max(SINKS, len(self._reader.lead)), keep)
        dropped = len(self._held) - keep
        turns = turns_of(self._reader, self._context)
        if turns is None:
            lead = len(self._reader.lead)
            self._held = torch.cat([self._held[:lead], self._held[len(self._held) - max(keep - lead, 0) :]])
            self._cache = None
            return self._held
        for layer, turn in zip(self._cache.layers, turns, strict=True):
            late = slice(sinks + dropped, None)
            keys = layer.keys[..., late, :] if turn is None else turn(layer.keys[..., late, :], -dropped)
            layer.keys = torch.cat([layer.keys[..., :sinks, :], keys], dim=-2)
            layer.values = torch.cat([layer.values[..., :sinks, :], layer.values[..., late, :]], dim=-2)
        self._held = torch.cat([self._held[:sinks], self._held[sinks + dropped :]])
        return self._held[:0]


def turns_of(reader: Reader, context: int) -> Sequence[Turn | None] | None:
    """Return how the keys of each layer turn with their positions, None of a layer where they do not; None if they cannot be moved.

    Found out by trial, so that it holds for any model: a few tokens are read at the start of the context and at its end.
    """
    if context not in reader.turns:
        reader.turns[context] = _turns(reader, context)
    found: Sequence[Turn | None] | None = reader.turns[context]
    return found


def _turns(reader: Reader, context: int) -> Sequence[Turn | None] | None:
    torch, model = import_extra("torch", "transformers"), reader.model
    candidates: list[Turn | None] = [None]
    for frequencies in _distinct(buffer for name, buffer in model.named_buffers() if name.endswith("inv_freq")):
        candidates += [Turn(frequencies, False), Turn(frequencies, True)]
    if len(candidates) == 1:
        return None
    by = context - _TRIED
    tokens = torch.arange(_TRIED, device=model.device)[None]
    near, far = (
        model(input_ids=tokens, position_ids=tokens + start, use_cache=True).past_key_values for start in (0, by)
    )
    if not plain(near):
        return None
    found = list[Turn | None]()
    for layer, moved in zip(near.layers, far.layers, strict=True):
        keys, away = layer.keys.float(), moved.keys.float()
        fits = [turn for turn in candidates if _fits(turn, keys, away, by)]
        if not fits:
            return None
        found.append(fits[0])
    return found


def _fits(turn: Turn | None, keys: Any, away: Any, by: int) -> bool:
    if turn is None:
        return bool((keys - away).norm() <= _NEAR * away.norm())
    if 2 * len(turn.frequencies) > keys.shape[-1]:
        return False
    return bool((turn(keys, by) - away).norm() <= _NEAR * away.norm())


def _distinct(tensors: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for tensor in tensors:
        if not any(tensor.shape == one.shape and bool((tensor == one).all()) for one in found):
            found.append(tensor)
    return found


def plain(cache: Any) -> bool:
    """Whether every layer holds the keys and values of all tokens, and nothing else."""
    dynamic = import_extra("transformers", "transformers").cache_utils.DynamicLayer
    return all(type(layer) is dynamic for layer in getattr(cache, "layers", [None]))


def as_prefix(cache: Any, length: int, rows: int) -> Any:
    """Return a cache of the first tokens of another that is `plain`, the same for so many rows."""
    copy = import_extra("transformers", "transformers").DynamicCache()
    for i, layer in enumerate(cache.layers):
        keys, values = (held[..., :length, :].expand(rows, -1, -1, -1) for held in (layer.keys, layer.values))
        copy.update(keys, values, i)
    return copy
