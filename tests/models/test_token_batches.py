from types import SimpleNamespace

import numpy as np

from advchunk.models.embedders import as_embedder


class Encoder:
    """A stand-in for a SentenceTransformer that reads a token a word, and at most 256."""

    def __init__(self, device):
        self.device, self.max_seq_length, self.sizes = device, 256, []
        self.tokenizer = SimpleNamespace(
            convert_tokens_to_ids=None, encode=lambda text, **_: text.split(), num_special_tokens_to_add=lambda: 2
        )

    def encode(self, texts, batch_size=32, show_progress_bar=None):
        assert not show_progress_bar
        assert batch_size >= len(texts) or self.device != "cpu"
        self.sizes.append(len(texts))
        return np.array([[1.0, len(text)] for text in texts])


def test_a_transformer_on_a_processor_reads_short_texts_together_and_long_ones_apart():
    texts = ["short one"] * 40 + ["long " * 300] * 5 + ["middling " * 50] * 21
    encoders = [Encoder("cpu"), Encoder("cuda")]
    rows = [as_embedder(encoder).embed(texts).tolist() for encoder in encoders]
    assert rows[0] == rows[1]
    assert [encoder.sizes for encoder in encoders] == [[4, 4, 20, 38], [66]]
