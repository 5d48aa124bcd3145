import asyncio
import contextlib
import math
import threading
import time
from collections import Counter
from queue import SimpleQueue
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advchunk.engine import Complete, Embed, Job, adrive, call_with_timeout, completed, drive
from advchunk.engine.scheduler import Scheduler
from advchunk.errors import BadModelOutput
from servers import LONG


class Model:
    """Answers a text with its length; notes its calls; may be slow, wrong, or refuse texts."""

    def __init__(self, batch_size=4, refuses=(), seconds=0.0, answer=None):
        self.batch_size, self.refuses, self.seconds = batch_size, set(refuses), seconds
        self.answer = answer or (lambda texts: np.array([[len(text), 1.0] for text in texts], dtype=np.float32))
        self.calls, self.awaited, self.now, self.most = [], [], 0, 0
        self.released = threading.Event()  # ends the calls, whatever their seconds

    def _answer(self, texts):
        if bad := self.refuses & set(texts):
            msg = f"refused {sorted(bad)}"
            raise RuntimeError(msg)
        return self.answer(texts)

    def embed(self, texts):
        self.calls.append(texts)
        self.released.wait(self.seconds)
        return self._answer(texts)

    async def aembed(self, texts):
        self.awaited.append(texts)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            self.now -= 1
        return self._answer(texts)


def asking(model, *rounds):
    """Ask for each round of texts in turn; return the first figure of every row of every round."""
    results = []
    for texts in rounds:
        rows = yield Embed(tuple(texts), model)
        results.append([float(row[0]) for row in rows])
    return results


def lengths(*rounds):
    return [[float(len(text)) for text in texts] for texts in rounds]


def failing(error):
    raise error
    yield


def run_async(jobs, concurrency=4):
    async def run():
        return [result async for result in adrive(jobs, concurrency)]

    return asyncio.run(run())


def run_sync(jobs):
    return list(drive(jobs))


def simulate(jobs, call):
    """Run jobs with a simulated model: ``call(batch)`` returns rows, or an exception, and the seconds they took."""
    scheduler, results = Scheduler(jobs), []
    while not scheduler.done:
        if batch := scheduler.batch():
            scheduler.answer(batch, *call(batch))
        results += scheduler.ready()
    return results


def instead(result):
    return lambda error: Job(completed((result, type(error).__name__)))


both = pytest.mark.parametrize("run", [run_sync, run_async], ids=["sync", "async"])


def test_equal_items_are_asked_once():
    model = Model(batch_size=100)
    assert run_sync([Job(asking(model, ["a", "bb", "a"])), Job(asking(model, ["bb", "ccc"]))]) == [
        [[1.0, 2.0, 1.0]],
        [[2.0, 3.0]],
    ]
    assert model.calls == [("a", "bb", "ccc")]


def test_request_joins_a_call_in_flight():
    model = Model(batch_size=1, seconds=0.5)
    assert run_async([Job(asking(model, ["a"])) for _ in range(5)], concurrency=2) == [[[1.0]]] * 5
    assert model.awaited == [("a",)]


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 7, 64])
@both
def test_batches_are_full(run, batch_size):
    model = Model(batch_size)
    sizes = np.random.default_rng(0).integers(0, 6, 500).tolist()
    texts = iter(str(i) for i in range(10**6))
    asked = [[next(texts) for _ in range(size)] for size in sizes]
    assert run(Job(asking(model, texts)) for texts in asked) == [lengths(texts) for texts in asked]
    assert len(model.calls) + len(model.awaited) == math.ceil(sum(sizes) / batch_size)


def counted(jobs):
    """Return jobs that note how many plans are begun and unfinished, and the most there ever were."""
    state = Counter()

    def noted(plan):
        state["open"] += 1
        state["most"] = max(state["most"], state["open"])
        result = yield from plan
        state["open"] -= 1
        return result

    return (Job(noted(plan)) for plan in jobs), state


@pytest.mark.parametrize(("concurrency", "bound"), [(None, 11), (3, 31)])
def test_memory_holds_a_batch_a_call_and_one_plan(concurrency, bound):
    model = Model(batch_size=10)
    jobs, state = counted(asking(model, [str(i)]) for i in range(500))
    results = run_sync(jobs) if concurrency is None else run_async(jobs, concurrency)
    assert len(results) == 500
    assert 10 <= state["most"] <= bound


def test_results_waiting_for_an_earlier_job_are_bounded():
    taken, model = Counter(), Model(batch_size=10)

    def jobs():
        yield Job(asking(model, ["first"]))
        for i in range(10**4):
            taken["jobs"] = i + 1
            yield Job(completed(i))

    assert next(drive(jobs())) == [[5.0]]
    assert taken["jobs"] < 5000


@both
def test_without_recovery_an_error_is_raised_at_once(run):
    model = Model(batch_size=2, refuses={"b"})
    with pytest.raises(RuntimeError, match="refused"):
        run(Job(asking(model, [text])) for text in "abcdef")
    assert len(model.calls + model.awaited) <= 3


class PanicException(BaseException):
    """As Rust's is, in Python."""


@both
def test_an_error_in_a_plan_is_recovered_or_raised(run):
    for error, name in ((ValueError("mine"), "ValueError"), (PanicException("mine"), "RuntimeError")):
        jobs = [Job(completed(1)), Job(failing(error), recover=instead(2)), Job(completed(3))]
        assert run(jobs) == [1, (2, name), 3]
        with pytest.raises((ValueError, RuntimeError), match="mine"):
            run([Job(failing(error))])


@both
def test_recovery_may_fail_too(run):
    model = Model(refuses={"a", "b"})

    def then(*plans):
        return Job(plans[0], recover=(lambda _: then(*plans[1:])) if plans[1:] else None)

    plans = [asking(model, ["a"]), failing(ValueError()), asking(model, ["b"]), asking(model, ["good"])]
    assert run([then(*plans)]) == [[[4.0]]]
    with pytest.raises(RuntimeError, match="'b'"):
        run([then(asking(model, ["a"]), asking(model, ["b"]))])


@both
@pytest.mark.parametrize("rows", [[], [[1.0]], [[1.0]] * 9])
def test_as_many_rows_as_items(run, rows):
    model = Model(answer=lambda _: rows)
    with pytest.raises(BadModelOutput, match=f"2 items with as many rows, got {len(rows)}"):
        run([Job(asking(model, ["a", "b"]))])
    assert run([Job(asking(model, ["a", "b"]), recover=instead(0)), Job(completed(1))]) == [(0, "BadModelOutput"), 1]


@both
def test_a_plan_that_computes_too_long_is_given_up(run):
    released, late = threading.Event(), []

    def slow():
        released.wait(LONG)
        late.append(True)
        return "late"
        yield

    jobs = [Job(slow(), seconds=0.05, recover=instead("x")), Job(completed("next"))]
    assert run(jobs) == [("x", "TimeoutError"), "next"]
    assert not late
    released.set()


def test_a_plan_that_takes_its_time_in_steps_is_given_up():
    model = Model()

    def steps():
        for i in range(10):
            time.sleep(0.03)
            yield Embed((str(i),), model)

    assert run_sync([Job(steps(), seconds=0.1, recover=instead("x"))]) == [("x", "TimeoutError")]
    assert len(model.calls) <= 3


@both
def test_a_model_that_is_too_slow_is_given_up(run):
    late = []
    slow, quick = Model(seconds=LONG, answer=late.append), Model()
    jobs = [Job(asking(slow, ["a"]), seconds=0.05, recover=instead("x")), Job(asking(quick, ["a"]), seconds=LONG)]
    assert run(jobs) == [("x", "TimeoutError"), [[1.0]]]
    assert not late
    slow.released.set()


def test_plans_are_charged_by_their_share_of_the_items():
    model = Model(batch_size=10)
    large = Job(asking(model, [f"large {i}" for i in range(9)], ["again"]), seconds=20, recover=instead("large"))
    small = Job(asking(model, ["small"]), seconds=20, recover=instead("small"))
    results = simulate([large, small], lambda batch: (model.embed(batch.ask.items), 30))
    assert results == [("large", "TimeoutError"), [[5.0]]]


def test_shared_call_that_times_out_is_retried_per_plan():
    model, calls = Model(batch_size=10), []

    def call(batch):
        calls.append(batch.ask.items)
        if "hang" in batch.ask.items:
            return TimeoutError(), batch.seconds
        return model.embed(batch.ask.items), 15

    texts = ["a", "hang", "c"]
    jobs = [Job(asking(model, [text]), seconds=20, recover=instead(text)) for text in texts]
    assert simulate(jobs, call) == [[[1.0]], ("hang", "TimeoutError"), [[1.0]]]
    assert calls == [("a", "hang", "c"), ("a",), ("hang",), ("c",)]


def test_call_with_timeout():
    assert call_with_timeout(None, len, "four") == call_with_timeout(LONG, len, "four") == 4
    with pytest.raises(ZeroDivisionError):
        call_with_timeout(LONG, lambda: 1 / 0)
    for left in (0, -1):
        with pytest.raises(TimeoutError, match="0 s were left"):
            call_with_timeout(left, len, "four")
    for _ in range(200):  # a limit that nothing can meet is noticed each time
        with pytest.raises(TimeoutError):
            call_with_timeout(1e-9, len, "four")


def test_the_event_loop_goes_on():
    turns = threading.Semaphore(0)

    def heavy():
        return all(turns.acquire(timeout=LONG) for _ in range(20))
        yield

    async def run():
        async def tick():
            while True:
                await asyncio.sleep(0.001)
                turns.release()

        ticking = asyncio.create_task(tick())
        results = [result async for result in adrive([Job(heavy()), Job(asking(Model(), ["a"]))])]
        ticking.cancel()
        return results

    assert asyncio.run(run()) == [True, [[1.0]]]


def test_a_run_that_ends_early_cancels_its_calls():
    model = Model(batch_size=1, seconds=LONG)

    async def run():
        results = adrive([Job(completed(0)), *(Job(asking(model, [str(i)])) for i in range(9))], 3)
        assert await anext(results) == 0
        following = asyncio.create_task(anext(results))
        while model.now < 3:
            await asyncio.sleep(0.001)
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following
        await results.aclose()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return model.now

    assert asyncio.run(run()) == 0


shapes = st.lists(
    st.lists(st.lists(st.sampled_from(["a", "bb", "ccc", "no", "dddd", "eeeee"]), max_size=5), max_size=3), max_size=12
)


class Writer:
    """Completes in upper case; counts concurrent calls. The first calls wait until ``gate`` of them are in flight."""

    def __init__(self, concurrency=3, batch_size=1, seconds=0.0, refuses=(), whole=False, gate=1):
        self.concurrency, self.batch_size, self.seconds, self.gate = concurrency, batch_size, seconds, gate
        self.refuses, self.whole = set(refuses), whole  # whether a call is refused for one item in it
        self.calls, self.now, self.most, self._lock = [], 0, 0, threading.Lock()
        self._open = threading.Event()

    def _began(self, items):
        with self._lock:
            self.calls.append(items)
            self.now += 1
            self.most = max(self.most, self.now)
            if self.now >= self.gate:
                self._open.set()

    def _ended(self, items):
        with self._lock:
            self.now -= 1
        if self.whole and self.refuses & set(items):
            raise ValueError
        return [ValueError(f"refused {item}") if item in self.refuses else item.upper() for item in items]

    def complete(self, items):
        self._began(items)
        assert self._open.wait(LONG)
        time.sleep(self.seconds(items) if callable(self.seconds) else self.seconds)
        return self._ended(items)

    async def acomplete(self, items):
        self._began(items)
        try:
            async with asyncio.timeout(LONG):
                while not self._open.is_set():
                    await asyncio.sleep(0.001)
            await asyncio.sleep(self.seconds(items) if callable(self.seconds) else self.seconds)
        finally:
            results = self._ended(items)
        return results


def run_async_unlimited(jobs):
    return run_async(jobs, None)


drivers = pytest.mark.parametrize("run", [run_sync, run_async_unlimited], ids=["sync", "async"])


def completing(model, *rounds):
    results = []
    for items in rounds:
        rows = yield Complete(tuple(items), model)
        results.append(rows)
    return results


def upper(*rounds):
    return [[item.upper() for item in items] for items in rounds]


@drivers
@pytest.mark.parametrize("concurrency", [1, 2, 5])
def test_concurrency_of_a_model_is_respected_also_in_retries(run, concurrency):
    model = Writer(concurrency, batch_size=4, seconds=0.01, refuses={"no"}, whole=True, gate=concurrency)
    results = run(Job(completing(model, [f"{i}", "no" if i == 5 else "yes"]), recover=instead(i)) for i in range(24))
    assert results == [(5, "ValueError") if i == 5 else [[f"{i}", "YES"]] for i in range(24)]
    assert model.most == concurrency


@pytest.mark.parametrize(("count", "concurrency"), [(1, 1), (1, 3), (2, 1), (2, 2)])
def test_all_models_together_have_as_many_calls_as_allowed(count, concurrency):
    models = [Writer(4, seconds=0.01, gate=concurrency if count == 1 else 1) for _ in range(count)]
    results = run_async([Job(completing(models[i % count], [str(i)])) for i in range(12)], concurrency)
    assert results == [[[str(i)]] for i in range(12)]
    assert max(model.most for model in models) <= concurrency <= sum(model.most for model in models)


def test_single_calls_run_in_the_calling_thread():
    threads = set()

    class Here(Writer):
        def complete(self, items):
            threads.add(threading.current_thread())
            return super().complete(items)

    run_sync([Job(completing(Here(1), ["a"])), Job(completing(Here(None), ["a"]))])
    assert threads == {threading.current_thread()}


@drivers
@pytest.mark.parametrize("batch_size", [1, 3, 20])
def test_row_error_fails_only_the_plans_that_requested_it(run, batch_size):
    model = Writer(2, batch_size, refuses={"t3", "t7"})
    results = run(Job(completing(model, [f"t{i}", "shared"]), recover=instead(i)) for i in range(12))
    assert results == [(i, "ValueError") if i in (3, 7) else [[f"T{i}", "SHARED"]] for i in range(12)]
    asked = Counter(item for items in model.calls for item in items)
    assert max(asked.values()) == 1  # what succeeded is not asked again, and what failed neither


@drivers
def test_slow_document_does_not_delay_others(run):
    released = threading.Event()
    finished_first = []

    class Waits(Writer):
        def complete(self, items):
            if items == ("slow",):
                released.wait(LONG)
            return super().complete(items)

        async def acomplete(self, items):
            while items == ("slow",) and not released.is_set():
                await asyncio.sleep(0.005)
            return await super().acomplete(items)

    model = Waits(2)

    def quick(i):
        yield from completing(model, [f"{i}"], [f"{i}b"])
        finished_first.append(i)
        if i == 20:
            released.set()
        return i

    assert run([Job(completing(model, ["slow"])), *(Job(quick(i)) for i in range(1, 21))]) == [
        [["SLOW"]],
        *range(1, 21),
    ]
    assert released.is_set()
    assert sorted(finished_first) == list(range(1, 21))


@drivers
def test_a_document_of_many_requests_takes_turns_with_the_others(run):
    model = Writer(1)
    ends = []

    def noted(name, *rounds):
        results = yield from completing(model, *rounds)
        ends.append(name)
        return results

    small = [["begin"], ["go on"], ["end"]]
    large = [f"item {i}" for i in range(60)]
    assert run([Job(noted("small", *small)), Job(noted("large", large))]) == [upper(*small), upper(large)]
    assert ends == ["small", "large"]
    assert model.calls.index(("end",)) < 20


def test_rows_of_documents_are_remembered_but_not_for_ever():
    model = Writer(1)
    items = [f"{i}" for i in range(Complete.cache_size + 10)]

    def plan():
        for item in items:
            yield Complete((item,), model)
        yield Complete((items[-1],), model)
        yield Complete((items[0],), model)

    run_sync([Job(plan())])
    assert len(model.calls) == len(items) + 1


def test_calls_at_the_same_time_are_charged_once(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("advchunk.engine.scheduler.time", SimpleNamespace(monotonic=lambda: clock[0]))

    def run(concurrency):
        items = [str(i) for i in range(16)]
        scheduler = Scheduler([Job(completing(Writer(concurrency), items), seconds=12, recover=instead("late"))])
        for _ in range(16 // concurrency):
            batches = [scheduler.batch() for _ in range(concurrency)]
            clock[0] += 2
            for batch in batches:
                scheduler.answer(batch, [item.upper() for item in batch.ask.items], 2)
        return list(scheduler.ready())

    assert run(8) == [upper([str(i) for i in range(16)])]
    assert run(1) == [("late", "TimeoutError")]


def test_an_interrupt_ends_the_wait_for_calls(monkeypatch):
    released, late = threading.Event(), []

    class Hangs(Writer):
        def complete(self, items):
            released.wait(LONG)
            late.append(items)

    class Interrupted(SimpleQueue):
        def get(self):
            raise KeyboardInterrupt  # as Ctrl-C does while the main thread waits

    monkeypatch.setattr("queue.SimpleQueue", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_sync([Job(completing(Hangs(3), [str(i)]), recover=instead(i)) for i in range(3)])
    assert not late
    released.set()


@drivers
@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_exit_in_a_call_ends_all(run, concurrency):
    class Exits(Writer):
        def _ended(self, items):
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        run([Job(completing(Exits(concurrency), [str(i)]), recover=instead(i)) for i in range(3)])


@drivers
@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("kind", ["panic", "stop"])
def test_panic_in_a_model_ends_only_one_plan(run, concurrency, kind):
    class Panics(Writer):
        def _ended(self, items):
            if items == ("1",):
                raise PanicException if kind == "panic" else StopIteration
            return super()._ended(items)

    results = run([Job(completing(Panics(concurrency), [str(i)]), recover=instead(i)) for i in range(3)])
    assert results == [[["0"]], (1, "RuntimeError"), [["2"]]]


@settings(max_examples=100)
@given(shapes, st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans(), st.booleans())
def test_plans_give_the_same_results_with_concurrent_calls_and_errors(
    plans, batch_size, concurrency, refuse, whole, awaited
):
    model = Writer(concurrency, batch_size, refuses={"no"} if refuse else (), whole=whole)
    jobs = [Job(completing(model, *rounds), recover=instead(i)) for i, rounds in enumerate(plans)]
    results = run_async(jobs, None) if awaited else run_sync(jobs)
    assert results == [
        (i, "ValueError") if refuse and any("no" in items for items in rounds) else upper(*rounds)
        for i, rounds in enumerate(plans)
    ]
    assert model.most <= concurrency
    assert max(map(len, model.calls), default=0) <= batch_size
