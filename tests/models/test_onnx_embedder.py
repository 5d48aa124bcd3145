import json
import pickle
import shutil
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from advchunk import ConfigurationError, MissingExtra, ModelUnavailable, OnnxEmbedder
from advchunk.models import embedders
from advchunk.models.cache import with_cache
from advchunk.models.embedders import as_embedder, named_embedder
from advchunk.models.identity import identity, precision

pytestmark = pytest.mark.slow

TEXTS = ["A cat slept.", "", "The kitten was asleep. " * 9, "Taxes rose.", "word " * 400, "naïve 東京 🦛"]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A SentenceTransformer with the tokenizer of MiniLM and two small layers of random weights."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp("small")
    named_embedder("minilm").save_pretrained(str(folder))
    torch.manual_seed(0)
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 24, "intermediate_size": 24}
    transformers.BertModel(transformers.BertConfig(**layers)).save_pretrained(str(folder))
    change(folder / "1_Pooling" / "config.json", embedding_dimension=24)
    return SentenceTransformer(str(folder), device="cpu")


@pytest.fixture(scope="module")
def exported(small, tmp_path_factory):
    """A folder of the model with its ONNX graph, whose output are the vectors of tokens."""
    pytest.importorskip("onnx")
    import torch

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = small[0].auto_model

        def forward(self, *features):
            return self.model(**dict(zip(names, features, strict=True))).last_hidden_state

    folder = tmp_path_factory.mktemp("model") / "small"
    small.save_pretrained(str(folder))
    (folder / "onnx").mkdir()
    features = small.tokenizer(["A text.", "Another short text."], return_tensors="pt", padding=True)
    names = [*features]
    axes = {name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]}
    options = {"input_names": names, "output_names": ["last_hidden_state"], "dynamic_axes": axes, "dynamo": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Tokens().eval(), tuple(features.values()), str(folder / "onnx" / "model.onnx"), **options)
    return folder


@pytest.fixture
def folder(exported, tmp_path):
    """A copy whose settings can be changed."""
    return shutil.copytree(exported, tmp_path / "copy")


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


def assert_same_vectors(first, second):
    np.testing.assert_allclose(as_embedder(first).embed(TEXTS), as_embedder(second).embed(TEXTS), atol=1e-5)


def test_vectors_are_those_of_sentence_transformers(exported, small):
    embedder = as_embedder(f"{exported}:onnx")
    assert isinstance(embedder.model, OnnxEmbedder)
    assert_same_vectors(embedder, small)
    assert embedder.max_tokens == as_embedder(small).max_tokens == 254
    assert embedder.counter("word " * 300) == 300
    assert embedder.embed(["a"]).dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embedder.model.embed(["a", "\ud800"]), axis=1), 1, atol=1e-5)
    assert embedder.model.embed([]).shape == (0, 0)


@pytest.mark.parametrize("mode", ["mean", "cls", "lasttoken"])
def test_pooling_and_prompt_are_those_of_the_folder(folder, mode):
    from sentence_transformers import SentenceTransformer

    prompts = {"prompts": {"document": "text: "}, "default_prompt_name": "document"}
    change(folder / "1_Pooling" / "config.json", pooling_mode=mode)
    change(folder / "config_sentence_transformers.json", **prompts)
    model = SentenceTransformer(str(folder), device="cpu")
    embedder = OnnxEmbedder(folder)
    assert_same_vectors(embedder, model)
    assert embedder.max_tokens == as_embedder(model).max_tokens == 252


def test_configurations_of_before_version_6_are_read(folder, exported):
    flags = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(flags), "utf-8")
    change(folder / "sentence_bert_config.json", max_seq_length=128)
    embedder = OnnxEmbedder(folder)
    assert embedder.max_tokens == 126
    short = TEXTS[:4]
    np.testing.assert_allclose(embedder.embed(short), OnnxEmbedder(exported).embed(short), atol=1e-5)


def test_it_is_pickled_without_its_graph(exported):
    embedder = OnnxEmbedder(exported, threads=1)
    again = pickle.loads(data := pickle.dumps(embedder))
    assert len(data) < 1000
    assert again.embed(TEXTS).tolist() == embedder.embed(TEXTS).tolist()
    assert identity(again) == identity(embedder)


def test_it_computes_in_as_many_threads_as_the_environment_says(exported, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert OnnxEmbedder(exported)._session.get_session_options().intra_op_num_threads == 3


def test_a_name_is_downloaded_without_the_weights_of_torch(exported, monkeypatch):
    asked = []

    def snapshot_download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(exported)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    assert as_embedder("some/model:onnx").model.embed(["a"]).shape == (1, 24)
    assert OnnxEmbedder("some/model").identity == "some/model onnx/model.onnx"
    assert asked == [("some/model", ["*.json", "onnx/model.onnx*"])] * 2


@pytest.mark.parametrize(
    ("file", "values", "rule"),
    [
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "the pooling must be the mean, .*'max'"),
        ("1_Pooling/config.json", {"include_prompt": False}, "the pooling must include the prompt"),
        ("sentence_bert_config.json", {"do_lower_case": True}, "the tokenizer itself must lowercase"),
        ("sentence_bert_config.json", {"max_seq_length": 10**30}, "must state the limit of the model in tokens"),
    ],
)
def test_settings_it_lacks_are_refused(folder, file, values, rule):
    change(folder / file, **values)
    with pytest.raises(ConfigurationError, match=rule):
        OnnxEmbedder(folder)


def test_further_modules_are_refused(folder):
    path = folder / "modules.json"
    dense = {"path": "3_Dense", "type": "sentence_transformers.models.Dense"}
    path.write_text(json.dumps([*json.loads(path.read_text("utf-8")), dense]), "utf-8")
    with pytest.raises(ConfigurationError, match="must be a Transformer, a Pooling and at most a Normalize"):
        OnnxEmbedder(folder)


@pytest.mark.parametrize(
    ("inputs", "shape", "rule"),
    [
        (["input_ids", "position_ids"], (None, None, 24), r"inputs of onnx/model\.onnx must be among .*position_ids"),
        (["input_ids"], (None, 24), r"output of onnx/model\.onnx must be the vectors of tokens, got 'pooled'"),
    ],
)
def test_graphs_with_other_inputs_or_outputs_are_refused(exported, monkeypatch, inputs, shape, rule):
    class Session:
        def __init__(self, path, options, providers):
            pass

        def get_inputs(self):
            return [SimpleNamespace(name=name) for name in inputs]

        def get_outputs(self):
            return [SimpleNamespace(name="pooled", shape=shape)]

    monkeypatch.setattr("onnxruntime.InferenceSession", Session)
    with pytest.raises(ConfigurationError, match=rule):
        OnnxEmbedder(exported)


def test_files_that_do_not_load_and_providers_that_are_missing_are_errors(folder):
    with pytest.raises(ConfigurationError, match=r"providers must be among .*got .*Nope"):
        OnnxEmbedder(folder, providers=["Nope"])
    (folder / "onnx" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(ModelUnavailable, match="could not be loaded from"):
        OnnxEmbedder(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match="could not be loaded from"):
        OnnxEmbedder(folder)


def test_a_missing_graph_names_the_file(tmp_path):
    with pytest.raises(ModelUnavailable, match=r"has no onnx/model\.onnx: export the model"):
        as_embedder(f"{tmp_path}:onnx")
    with pytest.raises(ModelUnavailable, match="embedder 'nobody/nothing' is not on this machine"):
        as_embedder("nobody/nothing:onnx")


def test_a_missing_library_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"advchunk\[onnx\]"):
        OnnxEmbedder(tmp_path)
    with pytest.raises(ConfigurationError, match="threads must be >= 1 or None, got 0"):
        OnnxEmbedder(tmp_path, threads=0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_by_name(dtype, exported, small):
    half = named_embedder(f"{exported}:{dtype}")
    assert precision(half) == dtype
    assert named_embedder(f"{exported}:{dtype}") is half
    assert precision(named_embedder(f"minilm:{dtype}")) == dtype
    assert (as_embedder(half).embed(TEXTS) * as_embedder(small).embed(TEXTS)).sum(1).min() > 0.999


def test_unknown_endings_are_refused():
    for name, rule in {
        "minilm:int8": r"an embedder's name may end in one of \[':float32', .*got 'minilm:int8'",
        "minilm:": "an embedder's name may end in one of",
        "usem3:float16": "only models of sentence-transformers have a precision .*got 'usem3:float16'",
        "mini-lm:onnx": "did you mean 'minilm'",
    }.items():
        with pytest.raises(ConfigurationError, match=rule):
            as_embedder(name)


def test_a_model_that_does_not_load_in_a_precision_is_refused(monkeypatch):
    import sentence_transformers

    class Static:
        def __init__(self, path, model_kwargs):
            pass

    monkeypatch.setattr(sentence_transformers, "SentenceTransformer", Static)
    with pytest.raises(ConfigurationError, match="'some/static' must be a model that loads in float16"):
        embedders._load_sentence_transformer("some/static", "float16")


def test_no_cache_answers_for_another_precision_or_graph(exported):
    store = {}
    names = [str(exported), f"{exported}:bfloat16", f"{exported}:onnx"]
    rows = [with_cache(as_embedder(name), store).embed(TEXTS) for name in names]
    assert len(store) == 3 * len(TEXTS)
    for name, expected in zip(names, rows, strict=True):
        assert with_cache(as_embedder(name), store).embed(TEXTS).tolist() == expected.tolist()
    assert len(store) == 3 * len(TEXTS)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("backend", "onnx"), ("truncate_dim", 64), ("max_seq_length", 100), ("default_prompt_name", "query")],
)
def test_settings_of_a_sentence_transformer_are_in_its_identity(attribute, value):
    def model(**changed):
        settings = {"backend": "torch", "truncate_dim": None, "max_seq_length": 256, "default_prompt_name": None}
        return SimpleNamespace(model_name="a", encode=list, prompts={"query": "query: "}, **{**settings, **changed})

    changed = model(**{attribute: value})
    assert identity(model()) == identity(model())
    assert identity(model()) != identity(changed)
    wrappers = [SimpleNamespace(model_name="a", _client=inner, embed_documents=list) for inner in (model(), changed)]
    assert identity(wrappers[0]) != identity(wrappers[1])
