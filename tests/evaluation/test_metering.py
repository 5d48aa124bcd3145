"""What work costs: what is sent is counted, and time is that of the work."""

import time
from dataclasses import dataclass

import numpy as np

from advchunk import Document
from advchunk.engine import ChatRequest, Choose, Complete, Embed, Job, drive
from advchunk.evaluation import candidate
from advchunk.evaluation.metrics.metering import Meter, RunCost, measure_cost
from advchunk.models.embedders import as_embedder
from advchunk.text.counters import WORDS


class Model:
    model_name = "toy"
    batch_size = 3

    def embed(self, texts):
        return [[len(text), 1.0] for text in texts]


def asking(model, *texts):
    rows = yield Embed(texts, model)
    return rows


def test_sent_texts_are_counted_and_answered():
    meter, model = Meter(), as_embedder(Model())
    plans = [["a b", "c"], ["c", "d e f", "g"]]
    plain = list(drive(Job(asking(model, *texts)) for texts in plans))
    counted, cost = measure_cost(
        lambda: list(drive((Job(asking(model, *texts)) for texts in plans), meter)), meter, WORDS
    )
    assert [rows.tolist() for rows in counted] == [rows.tolist() for rows in plain]
    assert (cost.calls, len(meter.sent), cost.tokens) == (2, 4, 7)  # "c" once


def test_dialogues_and_options_are_counted():
    @dataclass(frozen=True, slots=True)
    class Two:
        model_name: str

        def choose(self, items):
            return [np.ones(len(options)) for _, options in items]

        def complete(self, items):
            return ["a b c"] * len(items)

    def plan():
        yield Choose((("who is it", ("the cat", "a dog")),), Two("small"))
        yield Complete((ChatRequest((("system", "be kind"), ("user", "hi"))),), Two("large"))

    meter = Meter()
    _, cost = measure_cost(lambda: list(drive([Job(plan())], meter)), meter, WORDS)
    assert (cost.calls, cost.tokens) == (2, 10)


def test_a_chunker_is_metered_and_its_chunks_stay_the_same():
    document = Document("Cats purr. Cats nap. Courts rule. Courts sit. " * 5, "a")
    chunker = candidate("optimal-semantic", max_tokens=30, vectors="plain")
    meter = Meter()
    cut = chunker.metered_cut(meter)
    chunks, cost = measure_cost(lambda: cut([document]), meter, WORDS)
    assert [c.text for c in chunks[0]] == [c.text for c in chunker.cut([document])[0]]
    assert [c.vector.tolist() for c in chunks[0]] == [c.vector.tolist() for c in chunker.cut([document])[0]]
    sent = set(meter.sent)
    assert sent == {"Cats purr. ", "Cats nap. ", "Courts rule. ", "Courts sit. "} | {c.text for c in chunks[0]}
    assert cost.tokens == sum(map(WORDS, sent))


def test_time_is_that_of_the_work():
    _, cost = measure_cost(lambda: time.sleep(0.1), None, WORDS)
    assert cost.wall_seconds >= 0.1
    assert 0 < cost.cpu_seconds < cost.wall_seconds / 2
    assert (cost.calls, cost.tokens) == (None, None)


def test_costs_add_up():
    first = RunCost(1, 2, 1, 3)
    assert first + RunCost(4, 5, 1, 2) == RunCost(5, 7, 2, 5)
    assert RunCost(1, 1) + first == RunCost(2, 3)
