"""Causal language models: one pass, overlapping windows, prompts with a shared beginning, and what is no model."""

import subprocess
import sys
from dataclasses import dataclass
from itertools import accumulate
from types import SimpleNamespace

import numpy as np
import pytest

import lm as models
from advchunk import ConfigurationError, PerplexityChunker
from advchunk.errors import MissingExtra, ModelUnavailable
from advchunk.models import causal, huggingface
from advchunk.models.causal import as_causal
from advchunk.models.huggingface import MAX_PROMPTS, distinguishing_prefixes

pytestmark = pytest.mark.slow

SENTENCES = (
    "The mill was built by two brothers. ", "They saw that the creek filled twice a day. ", "They dammed it. ",
    "The miller works when the water "
    "is low. ", "One sack in sixteen was his pay.\n\n", "The lighthouse was first lit later. ",
    "Its lamp burned oil, then gas. ", "Sailors know it by its flashes.",
)  # fmt: skip
TEXT = "".join(SENTENCES)
EDGES = (0, *accumulate(map(len, SENTENCES)))
LONG = "the cat naps and the court rules on the law. " * 40
every_build = pytest.mark.parametrize("build", models.BUILDS)


@pytest.fixture(autouse=True)
def one_thread():
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def real():
    return as_causal(models.smollm2())


def tiny(build="llama", lead=False, positions=128, **params):
    return as_causal((models.tiny(build, positions), models.tokenizer(lead)), **params).model


def tokens_of(text, lead=False):
    return [0] * lead + models.tokenizer()(text, split_special_tokens=True).input_ids


def logs(model, ids):
    """The log-probabilities after each token, by one plain forward pass."""
    import torch

    with torch.inference_mode():
        return model(input_ids=torch.tensor([ids])).logits[0].log_softmax(-1).numpy()


def plain(model, ids):
    """The surprise of each token but the first, by one plain forward pass."""
    return -logs(model, ids)[np.arange(len(ids) - 1), ids[1:]]


class Spy:
    """Notes what a model is fed: how many tokens, from which position on, of how many rows."""

    def __init__(self, monkeypatch, model):
        self.fed, forward = [], model.forward

        def noting(*args, input_ids, past_key_values=None, **kwargs):
            held = 0 if past_key_values is None else past_key_values.get_seq_length()
            self.fed.append((held, *input_ids.shape[::-1]))
            return forward(*args, input_ids=input_ids, past_key_values=past_key_values, **kwargs)

        monkeypatch.setattr(model, "forward", noting)


# Surprise.


@every_build
@pytest.mark.parametrize("lead", [False, True])
def test_a_short_text_is_read_in_one_pass(build, lead):
    model, ids = tiny(build, lead), tokens_of(TEXT[:90], lead)
    ends, nats = model.surprise(TEXT[:90])
    assert len(ends) == len(nats) == len(ids) - lead
    assert np.isnan(nats).tolist() == [not lead] + [False] * (len(nats) - 1)
    assert nats[not lead :] == pytest.approx(plain(model.reader.model, ids), abs=1e-4)


@every_build
def test_reading_in_blocks_changes_nothing_while_nothing_is_dropped(build, monkeypatch):
    model = tiny(build)
    whole = model.surprise(TEXT[:110])[1]
    monkeypatch.setattr(huggingface, "MAX_LOGIT_BYTES", 0)
    monkeypatch.setattr(huggingface, "MIN_BLOCK", 9)
    spy = Spy(monkeypatch, model.reader.model)
    assert model.surprise(TEXT[:110])[1][1:] == pytest.approx(whole[1:], abs=1e-4)
    assert [fed for _, fed, _ in spy.fed[:-1]] == [9] * (len(spy.fed) - 1)
    assert [held for held, _, _ in spy.fed] == [9 * i for i in range(len(spy.fed))]


@every_build
@pytest.mark.parametrize("lead", [False, True])
@pytest.mark.parametrize("evict", [0.1, 0.3, 0.99])
def test_a_long_text_is_read_in_overlapping_windows(build, lead, evict, monkeypatch):
    model, ids = tiny(build, lead, max_context=40, evict=evict), tokens_of(LONG[:800])
    spy, stride = Spy(monkeypatch, model.reader.model), min(int(40 * evict), 39 - lead)
    nats = model.surprise(LONG[:800])[1]
    assert max(held + fed for held, fed, _ in spy.fed) <= 40
    for start in range(40 - lead, len(ids), stride):
        end = min(start + stride, len(ids))
        window = [0] * lead + ids[end - 40 + lead : end]
        assert nats[start:end] == pytest.approx(plain(model.reader.model, window)[start - end :], abs=1e-4)


def test_the_context_is_bounded_and_no_longer_than_the_model_was_trained_on():
    assert np.isfinite(tiny("gpt2").surprise(LONG)[1][1:]).all()  # it has a table of 128 positions, and no other
    contexts = (tiny("llama").context, tiny("llama", max_context=99).context, tiny(positions=10**6).context)
    assert contexts == (128, 99, 8192)
    with pytest.raises(ConfigurationError, match="a language model must read >= 16 tokens at a time, got 8"):
        _ = tiny(positions=8).context


@pytest.mark.parametrize("text", ["", "x", " ", "\ud800", "é"])
def test_hardly_any_text_is_hardly_any_surprise(text):
    for lead in (False, True):
        ends, nats = tiny(lead=lead).surprise(text)
        assert len(ends) == len(nats) == len(tokens_of(text.replace("\ud800", "\ufffd")))
        assert np.isnan(nats[:1]).all() != (lead and len(nats) > 0)
    edges = (0, len(text)) if text else (0,)
    (result,) = as_causal((models.tiny(), models.tokenizer())).score([(text, edges)])
    assert len(result) == len(edges) - 1
    assert np.isfinite(result).all()


def test_special_tokens_are_text_and_half_a_surrogate_pair_moves_no_offset():
    tokenizer = models.tokenizer()
    before = tokenizer.backend_tokenizer.to_str()
    assert len(tiny().surprise("a </s> b")[0]) == 8
    assert tiny().surprise("a\ud800b")[0].tolist() == [1, 2, 2, 2, 3]
    assert tokenizer.backend_tokenizer.to_str() == before  # the user's is left as it is


# A real model.


def test_one_pass_is_naive_recomputation_of_every_prefix(real):
    reader = real.model.reader
    encoding = reader.tokenizer(TEXT, return_offsets_mapping=True)
    ids, ends = encoding.input_ids, np.array(encoding.offset_mapping)[:, 1]
    (result,) = real.score([(TEXT, EDGES)])
    for value, start, end in zip(result, EDGES[:-1], EDGES[1:], strict=True):
        inside = np.flatnonzero((start < ends) & (ends <= end) & (np.arange(len(ids)) > 0))
        naive = plain(reader.model, ids[: inside[-1] + 1])[inside - 1].mean()
        assert value == pytest.approx(naive, abs=1e-4)


def test_perplexity_is_the_mean_of_exponentials(real):
    nats = real.model.surprise(TEXT)[1]
    ((result,),) = as_causal(real, measure="perplexity").score([(TEXT, (0, len(TEXT)))])
    assert result == pytest.approx(np.exp(nats[1:]).mean())


# Choosing.


def by_hand(model, prompt, options):
    """The probability of each option: of its tokens one after the other, with a space before it or without."""
    result = np.zeros(len(options))
    spelled = {(i, s): tokens_of(prompt + s + option) for i, option in enumerate(options) for s in ("", " ")}
    start = len(tokens_of(prompt))
    for (i, _), ids in spelled.items():
        chance = 1.0
        for at in range(start, len(ids)):
            rivals = [other for (j, _), other in spelled.items() if j != i and other[:at] == ids[:at]]
            if not rivals:
                break
            chance *= np.exp(logs(model, ids[:at])[-1, ids[at]])
        result[i] += chance
    return result


@every_build
@pytest.mark.parametrize("options", [("1", "2"), ("split", "keep"), ("10", "11", "2"), ("the court", "the cat", "a")])
def test_options_of_any_tokens_are_as_likely_as_token_by_token(build, options, monkeypatch):
    model, prompt = tiny(build), "the cat naps. Answer:"
    expected = by_hand(model.reader.model, prompt, options)
    spy = Spy(monkeypatch, model.reader.model)
    assert model.choose(prompt, options) == pytest.approx(expected, rel=1e-3)
    assert len(spy.fed) == 1


def test_spellings_that_begin_alike_count_once():
    assert distinguishing_prefixes([(0, [7, 1, 5]), (1, [7, 2]), (0, [7, 1])]) == [(0, [7, 1]), (1, [7, 2])]
    with pytest.raises(ConfigurationError, match="no option may be a prefix of another"):
        distinguishing_prefixes([(0, [7]), (1, [7, 2])])
    with pytest.raises(ConfigurationError, match="options must have >= 2 different values"):
        tiny().choose("the", ["cat", "cat"])


def test_a_prompt_that_grows_is_not_read_from_its_start_again(monkeypatch):
    model = tiny()
    prompts = ["the law rules on " + "the cat naps. " * i + "Split?" for i in range(1, 12)]
    fresh = [tiny().choose(prompt, ["1", "2"]) for prompt in prompts]
    spy = Spy(monkeypatch, model.reader.model)
    assert np.array([model.choose(prompt, ["1", "2"]) for prompt in prompts]) == pytest.approx(np.array(fresh), 1e-3)
    assert max(fed for _, fed, _ in spy.fed[1:]) <= 15
    assert max(held for held, _, _ in spy.fed) > 40
    assert len(model.reader.prompts) == 1


def test_prompts_of_several_documents_stand_side_by_side_and_no_more_than_a_few(monkeypatch):
    model, spy = tiny(), None
    texts = [letter * 30 for letter in "bdfg"]
    for i in range(4):
        if i == 1:
            spy = Spy(monkeypatch, model.reader.model)
        for text in texts:
            model.choose("the " + text + " cat" * i + "?", ["1", "2"])
    assert all(held > 30 for held, _, _ in spy.fed)
    for letter in "hijklm":
        model.choose(letter * 30, ["1", "2"])
    assert len(model.reader.prompts) == MAX_PROMPTS


def test_a_prompt_too_long_or_too_short_is_refused():
    with pytest.raises(
        ConfigurationError, match=r"a prompt must be <= 128 tokens, the model's limit: make chunks smaller, got \d\d\d"
    ):
        tiny().choose(LONG, ["1", "2"])
    with pytest.raises(ConfigurationError, match="a prompt must have a token that no option is part of, got ''"):
        tiny().choose("", ["1", "2"])
    assert tiny(lead=True).choose("", ["1", "2"]).sum() > 0


def test_a_dialogue_is_written_as_the_model_was_trained_and_no_text_breaks_out_of_it(real):
    model = real.model
    assert model.reader.frame[0].endswith("<|im_start|>user\n")
    assert model.reader.frame[1] == "<|im_end|>\n<|im_start|>assistant\n"
    ids = model._tokenize_answer("<|im_end|>", "1")
    assert (
        ids.count(model.reader.tokenizer.convert_tokens_to_ids("<|im_end|>")) == 2
    )  # of the system's turn and the user's
    yes, no = model.choose("Is water wet? Answer yes or no, in small letters.", ["yes", "no"])
    assert yes + no > 0.01


# What is taken for a language model.


@dataclass(frozen=True)
class Own:
    answer: object = ([1, 3], [np.nan, 2.0])
    chances: object = (0.5, 0.25)

    def surprise(self, text):
        return self.answer

    def choose(self, prompt, options):
        return self.chances


def test_an_object_of_ones_own_is_asked():
    coerced = as_causal(Own())
    assert coerced.score([("abc", (0, 1, 3))] * 2)[0].tolist() == [2.0, 2.0]
    assert coerced.choose([("?", ("1", "2"))])[0].tolist() == [0.5, 0.25]


def test_models_are_equal_if_they_answer_alike():
    model = as_causal(pair := (models.tiny(), models.tokenizer()))
    assert model == as_causal(pair) == as_causal(model)
    assert hash(model) == hash(as_causal(pair))
    assert model not in (as_causal(pair, max_context=50), as_causal(pair, measure="perplexity"))
    assert as_causal(Own()) == as_causal(Own()) != as_causal(Own(chances=(0.1, 0.1)))


def test_wrappers_of_the_frameworks_are_seen_through():
    from transformers import pipeline

    model, tokenizer = models.tiny(), models.tokenizer()
    pipe = pipeline("text-generation", model=model, tokenizer=tokenizer)
    langchain, llamaindex = SimpleNamespace(pipeline=pipe), SimpleNamespace(_model=model, _tokenizer=tokenizer)
    for wrapped in ([model, tokenizer], pipe, langchain, llamaindex):
        assert as_causal(wrapped) == as_causal((model, tokenizer))


class Weighty(Own):
    def __reduce__(self):
        pytest.fail("gigabytes")


def test_the_error_shows_what_it_was_and_neither_keys_nor_weights():
    pair = models.tiny(), models.tokenizer()
    with pytest.raises(ConfigurationError, match=rf"got \('{type(pair[1]).__name__}', 'LlamaForCausalLM'\)$"):
        as_causal(pair[::-1])
    with pytest.raises(ConfigurationError, match=r"got 'the address of an endpoint'$"):
        as_causal("http://key@localhost:8000/v1")
    with pytest.raises(ConfigurationError, match=r"got SimpleNamespace$"):
        as_causal(SimpleNamespace(weights=Weighty()))


def test_no_model_is_pickled_to_chunk_and_a_slow_tokenizer_is_refused():
    assert len(PerplexityChunker(lm=Weighty(([2], [1.0]))).chunk("One. Two.")) == 1
    with pytest.raises(ConfigurationError, match="must have a fast tokenizer"):
        as_causal((models.tiny(), SimpleNamespace(convert_tokens_to_ids=None, is_fast=False)))


def test_names_that_nobody_has(tmp_path):
    with pytest.raises(ConfigurationError, match="did you mean 'smollm2'"):
        as_causal("smollm")
    with pytest.raises(ModelUnavailable, match=r"language model 'nobody/nothing' is not on this machine"):
        as_causal("nobody/nothing")
    for there in (tmp_path, tmp_path / "none.gguf"):
        with pytest.raises(ModelUnavailable, match=rf"{there.name}' could not be read: "):
            as_causal(there)


def test_a_gguf_file_is_the_model_that_it_was_made_of(tmp_path):
    result = as_causal(models.gguf(tmp_path / "tiny.gguf")).model
    expected = tiny()
    assert result.context == 128
    assert result.surprise(TEXT[:90])[0].tolist() == expected.surprise(TEXT[:90])[0].tolist()
    assert result.surprise(TEXT[:90])[1][1:] == pytest.approx(expected.surprise(TEXT[:90])[1][1:], abs=1e-5)


def test_a_model_by_name_is_put_where_it_is_fastest(monkeypatch):
    import torch

    cases = {
        (True, True, False): ("cuda", "bfloat16"),
        (True, False, False): ("cuda", "float32"),
        (False, False, True): ("mps", "float32"),
        (False, False, False): ("cpu", "float32"),
    }
    for (cuda, half, mps), (device, dtype) in cases.items():
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda half=half: half)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert causal._select_device(torch) == (device, getattr(torch, dtype))


def test_a_name_is_looked_up_when_the_model_is_needed():
    code = "import sys, advchunk; advchunk.create('perplexity', lm='nobody/x'); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "False\n"


def test_without_the_libraries_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'advchunk\[transformers\]'"):
        as_causal("nobody/nothing-else")


def test_a_path_is_loaded_once_a_process(real):
    assert as_causal(models.smollm2(), max_context=99).model.reader is real.model.reader
    assert real.model.model_name == models.smollm2()
