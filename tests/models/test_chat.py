import asyncio
import copy
import json
import pickle
import subprocess
import sys
import threading
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from llama_index.core.llms import MockLLM

from advchunk import ConfigurationError, MissingExtra
from advchunk.engine import ChatRequest, Complete, Job, adrive, completed, drive, runner
from advchunk.engine.scheduler import Batch
from advchunk.engine.threads import run_coroutine
from advchunk.errors import BadModelOutput, BudgetExceeded, MissingModel, ModelUnavailable
from advchunk.models import connection
from advchunk.models.chat import Budget, Usage, as_chat
from advchunk.models.endpoint import OpenAIChat
from growing import check_growth
from servers import LONG, SHORT, Endpoint, breaks_off, drips, fails, hangs, reading, replies, resets, says

pytestmark = pytest.mark.slow

KEY = "sk-planted-0123456789abcdef"
HELLO = ChatRequest((("system", "Be brief."), ("user", "hello")), max_tokens=20)
JSON = ChatRequest((("user", "hello"),), schema='{"type": "object", "properties": {"a": {"type": "integer"}}}')


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def chat_at(endpoint, **params):
    return OpenAIChat(endpoint.url, "small", **{"timeout": 20, "backoff": 0.01, "retries": 2, **params})


def called(chat, *requests):
    return chat.complete(requests)


def awaited(chat, *requests):
    return asyncio.run(chat.acomplete(requests))


both = pytest.mark.parametrize("complete", [called, awaited])


def numbered(n, **params):
    return [ChatRequest((("user", f"number {i}"),), **params) for i in range(n)]


def asking(chat, *requests):
    return (yield Complete(requests, chat))


def instead(error):
    return Job(completed(error))


def run_sync(jobs):
    return list(drive(jobs))


def run_async(jobs):
    async def run():
        return [result async for result in adrive(jobs)]

    return asyncio.run(run())


runs = pytest.mark.parametrize("run", [run_sync, run_async])


# What chats.


class LikeLlamaIndex(MockLLM):
    def chat(self, messages, **kwargs):
        result = super().chat(messages, **kwargs)
        result.additional_kwargs = {"prompt_tokens": 5, "completion_tokens": 2}
        return result


def answered_in_parts(_):
    parts = ["one, ", {"type": "text", "text": "two"}]
    return AIMessage(parts, usage_metadata={"input_tokens": 4, "output_tokens": 2, "total_tokens": 6})


async def later(prompt):
    await asyncio.sleep(0)
    return prompt.upper()


@both
@pytest.mark.parametrize(
    ("make", "answer", "usage"),
    [
        (lambda: lambda prompt: prompt.upper(), "BE BRIEF.\n\nHELLO", (0, 0)),
        (lambda: lambda messages: json.dumps(messages[0]), '{"role": "system", "content": "Be brief."}', (0, 0)),
        (lambda: "<{}>".format, "<Be brief.\n\nhello>", (0, 0)),
        (lambda: FakeListChatModel(responses=["hi"]), "hi", (0, 0)),
        (lambda: RunnableLambda(answered_in_parts), "one, two", (4, 2)),
        (LikeLlamaIndex, "system: Be brief.\nuser: hello\nassistant: ", (5, 2)),
    ],
)
def test_chat_models_are_recognized(make, answer, usage, complete):
    model = make()
    chat = as_chat(model)
    assert complete(chat, HELLO) == [answer]
    assert chat.usage == Usage(1, *usage)
    assert as_chat(chat) is chat
    assert chat == as_chat(model)
    assert hash(chat) == hash(as_chat(model))
    assert chat != as_chat(model, budget=Budget())
    assert chat != as_chat(lambda prompt: prompt)


def test_an_async_function_answers_async_calls_alone():
    assert awaited(as_chat(later), HELLO) == ["BE BRIEF.\n\nHELLO"]
    with pytest.raises(ConfigurationError, match="an async llm needs an async call"):
        called(as_chat(later), HELLO)


def test_what_is_no_chat_model_is_refused():
    for bad in (KEY, OpenAIChat):
        with pytest.raises(ConfigurationError, match="an llm must be an OpenAIChat") as caught:
            as_chat(bad)
        assert KEY not in str(caught.value)
    with pytest.raises(MissingModel, match=r"llm= is missing: pass an OpenAIChat\(.*pip install 'advchunk\[llm\]'"):
        as_chat(None)


def test_how_many_calls_at_a_time():
    slots = [as_chat(model).concurrency for model in (len, FakeListChatModel(responses=[]), MockLLM())]
    assert slots == [1, 4, 4]
    assert as_chat(len, concurrency=3).concurrency == 3
    chat = OpenAIChat("http://localhost/v1", "m", concurrency=5)
    fewer = as_chat(chat, concurrency=2)
    assert (chat.concurrency, fewer.concurrency) == (5, 2)
    assert fewer.usage is chat.usage


@both
def test_thoughts_are_no_answer(complete):
    assert complete(as_chat(lambda _: "<think>Hm.\n\n## 1 No</think>\nYes"), HELLO) == ["\nYes"]
    assert complete(as_chat(lambda _: "Hm.\n## 1 No\n</think>\n\nYes"), HELLO) == ["\n\nYes"]
    for text in ("Say <think>x</think>", "Say <think>\n</think>\nx", "## 1 On </think>\n## 3 x"):
        assert complete(as_chat(lambda _, text=text: text), HELLO) == [text]
    (result,) = complete(as_chat(lambda _: "<think>Hm.\n## 1 No"), HELLO)  # and so on, until it had to stop
    assert isinstance(result, BadModelOutput)


@both
def test_half_a_surrogate_pair_is_not_sent(complete):
    with Endpoint() as endpoint:
        assert complete(chat_at(endpoint), ChatRequest((("user", "a\ud800b"),))) == ["ok"]
        assert endpoint.prompts() == ["a\ufffdb"]


# The endpoint.


@both
def test_requests_have_the_expected_fields(complete):
    with Endpoint(says("hi")) as endpoint:
        chat = chat_at(endpoint, options={"top_p": 0.5, "max_tokens": None, "max_completion_tokens": 9})
        request = ChatRequest((("system", "s"), ("user", "u")), temperature=0.1, seed=3)
        assert complete(chat, request) == ["hi"]
    assert endpoint.asked == [
        {
            "model": "small",
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}],
            "temperature": 0.1,
            "seed": 3,
            "top_p": 0.5,
            "max_completion_tokens": 9,
        }
    ]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    assert chat.usage == Usage(1, 7, 3)


@both
def test_a_key_of_another_name_and_none(complete, monkeypatch):
    with Endpoint() as endpoint:
        complete(chat_at(endpoint, api_key_env="MY_KEY"), HELLO)
        monkeypatch.setenv("MY_KEY", f" {KEY[::-1]}\n")
        complete(chat_at(endpoint, api_key_env="MY_KEY"), HELLO)
    assert [headers["authorization"] for headers in endpoint.headers] == ["Bearer none", f"Bearer {KEY[::-1]}"]
    with Endpoint(fails(401, "who?")) as endpoint:
        (result,) = complete(chat_at(endpoint, api_key_env="UNSET"), HELLO)
    assert str(result).endswith("(the key is read from UNSET, which is not set)")


FAILURES = {
    "429": fails(429, "slow down"),
    "500": fails(500),
    "503": replies(503, "<html>down</html>", "text/html"),
    "broken JSON": replies(200, '{"choices": [{"mess'),
    "no bytes": replies(200, ""),
    "cut off": breaks_off,
    "reset": resets,
    "too slow": hangs(),
    "a byte at a time": drips(),
}
SLOW = ("too slow", "a byte at a time")


@both
@pytest.mark.parametrize("failure", FAILURES)
def test_transient_failures_are_retried_and_repeated_ones_given_up(failure, complete):
    with Endpoint(FAILURES[failure], says("hi")) as endpoint:
        chat = chat_at(endpoint, timeout=SHORT if failure in SLOW else 20)
        assert complete(chat, HELLO) == ["hi"]
        assert len(endpoint.asked) == chat.usage.requests == 2
    with Endpoint(FAILURES[failure]) as endpoint:
        chat = chat_at(endpoint, timeout=0.5 if failure in SLOW else 20)
        (result,) = complete(chat, HELLO)
        assert type(result) is ModelUnavailable
        assert f"small at {endpoint.url}: " in str(result)
        assert ("no answer in 0.5 s" in str(result)) is (failure in SLOW)
        assert chat.usage.requests == 3
        assert len(endpoint.asked) == 3 or failure in SLOW  # which may be given up before it arrives
        assert pickle.loads(pickle.dumps(result)).args == result.args
    (gone,) = complete(chat_at(endpoint, retries=0), HELLO)  # the server has ended
    assert type(gone) is ModelUnavailable
    assert "APIConnectionError" in str(gone)


def filtered(handler):
    """Answer in part, as some hosts do."""
    choice = {"index": 0, "finish_reason": "content_filter", "message": {"role": "assistant", "content": "## 1 Half"}}
    replies(200, json.dumps({"choices": [choice]}))(handler)


@both
@pytest.mark.parametrize(
    ("step", "kind", "reason"),
    [
        (fails(400, "too long"), ModelUnavailable, "HTTP 400: too long"),
        (fails(401, "who?"), ModelUnavailable, "HTTP 401: who?"),
        (fails(429, "pay", code="insufficient_quota"), ModelUnavailable, "HTTP 429: pay"),
        (fails(429, Retry_After="3600"), ModelUnavailable, "retry after 3600 s"),
        (replies(200, "{}"), BadModelOutput, "answered without text"),
        (replies(200, "[7]"), BadModelOutput, "answered without text"),
        (replies(200, "<html>", "text/html"), BadModelOutput, "answered without text"),
        (replies(200, '{"choices": 7}'), BadModelOutput, "answered without text"),
        (replies(200, '{"choices": [{"message": {"content": 7}}]}'), BadModelOutput, "answered without text"),
        (says(None, refusal="I will not."), BadModelOutput, r"refused: I will not\."),
        (says(""), BadModelOutput, "got none"),
        (filtered, BadModelOutput, "refused: a content filter"),
    ],
)
def test_permanent_failures_are_not_retried(step, kind, reason, complete):
    with Endpoint(step) as endpoint:
        (result,) = complete(chat_at(endpoint), HELLO)
        assert len(endpoint.asked) == 1
    assert type(result) is kind
    with pytest.raises(kind, match=reason):
        raise result


@both
@pytest.mark.parametrize("usage", [None, ("7", None), (-1, 2.5), ([], {})])
def test_wrong_numbers_of_tokens_are_not_counted(usage, complete):
    budget = Budget(tokens=1000)
    with Endpoint(says("hi", usage=usage)) as endpoint:
        chat = chat_at(endpoint, budget=budget)
        assert complete(chat, HELLO) == ["hi"]
    assert chat.usage == Usage(1, 0, 0)
    assert budget.spent == Usage(1, *budget.max_cost(HELLO))


@both
@pytest.mark.parametrize("dated", [False, True])
def test_as_long_as_the_endpoint_says(dated, complete):
    at = datetime.now(UTC) + timedelta(seconds=2)
    with Endpoint(fails(429, Retry_After=format_datetime(at, usegmt=True) if dated else "0.4"), says("hi")) as endpoint:
        began = time.monotonic()
        assert complete(chat_at(endpoint), HELLO) == ["hi"]
        took = time.monotonic() - began
    assert took >= 0.4
    assert not dated or datetime.now(UTC) >= at.replace(microsecond=0)


def test_an_invalid_wait_is_ignored():
    with Endpoint(*(fails(429, Retry_After=wait) for wait in ("soon", "-5", "nan")), says("hi")) as endpoint:
        assert called(chat_at(endpoint, retries=3), HELLO) == ["hi"]


def test_waits_grow_and_vary(monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(connection.asyncio, "sleep", sleep)
    with Endpoint(fails(500)) as endpoint:
        chat = chat_at(endpoint, retries=12, backoff=1.0, longest_wait=30.0)
        for _ in range(3):
            chat.complete([HELLO])
    assert len(waits) == 36
    assert len(set(waits)) > 30
    for i in range(12):
        assert max(waits[i::12]) <= min(2.0**i, 30.0)
    assert max(waits) > 8


@both
def test_a_missing_library_error_says_what_to_install(complete, monkeypatch):
    monkeypatch.setitem(sys.modules, "tenacity", None)
    with Endpoint() as endpoint:
        assert complete(chat_at(endpoint, retries=0), HELLO) == ["ok"]  # which needs none for retries
        for library in ("tenacity", "openai"):
            monkeypatch.setitem(sys.modules, library, None)
            rule = rf"{library} is not installed: pip install 'advchunk\[llm\]'"
            with pytest.raises(MissingExtra, match=rule):
                complete(chat_at(endpoint, retries=int(library == "tenacity")), HELLO)


def test_bad_parameters_are_refused():
    no_urls = (7, "localhost:8000", f"http://user:{KEY}@localhost/v1", f"http://localhost/v1?key={KEY}")
    bad = {
        "base_url": (*no_urls, "http://localhost:port/v1", f"http://local host/{KEY}"),
        "timeout": (0, float("nan")),
        "backoff": (-1.0,),
        "longest_wait": (-1.0,),
        "concurrency": (0, True),
        "model": ("",),
        "api_key_env": ("",),
        "retries": (1.5,),
        "budget": (1000,),
        "options": ({"stop": {KEY}}, {"top_p": float("nan")}),
    }
    for name, value in ((name, value) for name, values in bad.items() for value in values):
        with pytest.raises(ConfigurationError, match=f"{name} must be") as caught:
            OpenAIChat(**{"base_url": "http://localhost/v1", "model": "m", name: value})
        assert KEY not in str(caught.value)


def test_bad_settings_of_any_model_are_refused():
    for params in ({"concurrency": 0}, {"concurrency": "4"}, {"concurrency": 1.5}, {"budget": 1000}):
        with pytest.raises(ConfigurationError, match=f"{next(iter(params))} must be"):
            as_chat(len, **params)
    for limits in ({"requests": -1}, {"tokens": 1.5}, {"requests": "many"}, {"tokens": True}):
        with pytest.raises(ConfigurationError, match="must be a whole number >= 0 or None"):
            Budget(**limits)


# Answers in JSON.


def formats(endpoint):
    return [body.get("response_format", {}).get("type") for body in endpoint.asked]


def takes(*accepted, refusal=400):
    """Answer in JSON to the accepted formats, and with an error to any other."""

    @reading
    def step(body):
        form = body.get("response_format", {}).get("type")
        return says('{"a": 1}') if form in accepted else fails(refusal, f"no {form}")

    return step


@both
@pytest.mark.parametrize("refusal", [400, 422, 500])
@pytest.mark.parametrize(
    ("accepted", "tried"),
    [
        (("json_schema", None), ["json_schema"]),
        (("json_object", None), ["json_schema", "json_object"]),
        ((None,), ["json_schema", "json_object", None]),
    ],
)
def test_the_strictest_format_is_found_once(accepted, tried, refusal, complete):
    with Endpoint(takes(*accepted, refusal=refusal)) as endpoint:
        chat = chat_at(endpoint)
        assert complete(chat, JSON) == complete(chat, JSON) == ['{"a": 1}']
        assert formats(endpoint) == [*tried, tried[-1]]
        assert complete(chat, HELLO) == ['{"a": 1}']
        assert formats(endpoint)[-1] is None
    assert all(JSON.schema in prompt for prompt in endpoint.prompts()[:-1])


@both
def test_retries_start_from_the_strictest_format_and_keep_one_that_was_taken(complete):
    good = says('{"a": 1}')
    with Endpoint(*[fails(400, "too long")] * 3, good, fails(500), good) as endpoint:
        chat = chat_at(endpoint)
        assert isinstance(complete(chat, JSON)[0], ModelUnavailable)
        assert complete(chat, JSON) == complete(chat, JSON) == ['{"a": 1}']
        assert formats(endpoint) == ["json_schema", "json_object", None, *["json_schema"] * 3]


@both
@pytest.mark.parametrize(
    ("reply", "schema", "read"),
    [
        ('{"a": 1}', "object", '{"a": 1}'),
        ('Here [1]:\n```json\n{"a": [1, {"b": "}"}]}\n```\nDone {x}.', "object", '{"a": [1, {"b": "}"}]}'),
        ("{x} {} [2, 3]", "array", "[2, 3]"),
        ("<think>{no}</think>{}", "object", "{}"),
        ('{"a": 1', "object", None),
        ("no braces", "object", None),
        ("[" * 100_000, "array", None),
    ],
)
def test_json_in_what_a_model_writes(reply, schema, read, complete):
    (result,) = complete(as_chat(lambda _: reply), ChatRequest((("user", "u"),), schema=json.dumps({"type": schema})))
    assert result == read if read else isinstance(result, BadModelOutput)


def test_an_answer_without_json_is_refused_in_time_in_proportion_to_its_length():
    def complete(text):
        (result,) = called(as_chat(lambda _: text), JSON)
        assert isinstance(result, BadModelOutput)

    for opening in ('{"a":[' * 300 + "1", '{"a"', "{", '{"a": {"'):
        check_growth(complete, lambda n, opening=opening: (opening * n)[: n // 2] + "1," * (n // 4), 20_000)
    assert called(as_chat(lambda _: "{ {x} " * 5000 + '{"a": 1}'), JSON) == ['{"a": 1}']


# Budgets.


@both
def test_retries_count_in_a_budget_of_requests(complete):
    with Endpoint(fails(500), says("hi"), says("hi"), fails(500)) as endpoint:
        chat = chat_at(endpoint, budget=Budget(requests=4), retries=5)
        assert complete(chat, HELLO) == complete(chat, HELLO) == ["hi"]
        (result,) = complete(chat, HELLO)
        assert type(result) is BudgetExceeded
        assert "the budget of 4 requests is spent" in str(result)
        assert len(endpoint.asked) == chat.usage.requests == 4


@both
def test_a_call_that_may_pass_the_budget_is_not_made(complete):
    most = sum(Budget().max_cost(HELLO))
    with Endpoint(says("hi", usage=(10, 5))) as endpoint:
        chat = chat_at(endpoint, budget=Budget(tokens=most + 14))
        assert complete(chat, HELLO) == ["hi"]  # 15 are spent
        (result,) = complete(chat, HELLO)
        assert type(result) is BudgetExceeded
        assert f"15 tokens of a budget of {most + 14} are spent, and the next call may take {most}" in str(result)
        assert len(endpoint.asked) == 1
        assert complete(chat_at(endpoint, budget=Budget(tokens=most)), HELLO) == ["hi"]


@both
@pytest.mark.parametrize(
    ("step", "timeout", "charged"),
    [(fails(400), 9, False), (fails(500), 9, False), (breaks_off, 9, True), (resets, 9, True), (hangs(), 0.5, True)],
)
def test_an_answer_that_never_came_may_be_on_the_bill(step, timeout, charged, complete):
    budget = Budget(tokens=10_000)
    with Endpoint(step) as endpoint:
        complete(chat_at(endpoint, budget=budget, retries=0, timeout=timeout), HELLO)
    assert budget.spent == Usage(1, *(budget.max_cost(HELLO) if charged else (0, 0)))


@pytest.mark.parametrize("text", ["hello " * 50, "Übergrößenträger", "猫は眠る。", "\U0001f600" * 20, ""])
def test_the_most_that_a_prompt_can_cost(text):
    request = ChatRequest((("user", text),), max_tokens=7)
    assert Budget().max_cost(request) == (16 + len(text.encode()), 7)


@runs
def test_a_budget_is_never_passed_however_many_call(run):
    budget = Budget(tokens=1000)
    cost, most = (30, 10), sum(budget.max_cost(numbered(1, max_tokens=20)[0]))

    @reading
    def step(_body):
        assert budget.spent.tokens <= 1000
        return says("hi", usage=cost)

    with Endpoint(step) as endpoint:
        chat = chat_at(endpoint, budget=budget, concurrency=6)
        result = run(Job(asking(chat, request), recover=instead) for request in numbered(60, max_tokens=20))
        made = len(endpoint.asked)
    assert [answer for answer in result if not isinstance(answer, BudgetExceeded)] == [["hi"]] * made
    assert budget.spent == Usage(made, 30 * made, 10 * made)
    # Calls wait for those under way, so that a budget is used up but for what one call may take.
    assert 1000 - most < 40 * made <= 1000


@runs
def test_a_budget_may_be_shared(run):
    budget = Budget(requests=7)
    with Endpoint() as first, Endpoint() as second:
        chats = [chat_at(first, budget=budget), as_chat(chat_at(second), budget=budget)]
        result = run(Job(asking(chats[i % 2], *numbered(i + 1)), recover=instead) for i in range(6))
        assert len(first.asked) + len(second.asked) == budget.spent.requests == 7
    assert isinstance(result[-1], BudgetExceeded)


@both
@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_budget_sets_aside_what_options_allow(name, complete):
    allowed = {"max_tokens": None, name: 500}
    with Endpoint(says("hi", usage=(10, 500))) as endpoint:
        chat = chat_at(endpoint, budget=Budget(tokens=Budget().max_cost(HELLO)[0] + 499), options=allowed)
        (result,) = complete(chat, HELLO)
        assert type(result) is BudgetExceeded
        assert endpoint.asked == []


# Many documents.


@runs
@pytest.mark.parametrize("concurrency", [1, 5])
def test_as_many_calls_at_a_time_as_the_model_takes(run, concurrency):
    together = threading.Barrier(concurrency)

    @reading
    def waiting(_body):
        together.wait(LONG)
        return says("hi")

    with Endpoint(waiting) as endpoint:
        chat = chat_at(endpoint, concurrency=concurrency)
        assert run(Job(asking(chat, request)) for request in numbered(20)) == [["hi"]] * 20
        assert endpoint.most == concurrency
        assert chat.usage.requests == 20


def test_cancelling_ends_calls_and_repetitions():
    async def run(endpoint, chat):
        calls = [asyncio.create_task(chat.acomplete([request])) for request in numbered(3)]
        while len(endpoint.asked) < 3:
            await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        asked = len(endpoint.asked)
        await asyncio.sleep(0.3)
        assert all(call.cancelled() for call in calls)
        assert len(endpoint.asked) == asked

    budget = Budget(tokens=10_000)
    with Endpoint(hangs()) as endpoint:
        asyncio.run(run(endpoint, chat_at(endpoint, budget=budget)))
    assert budget._reserved == 0
    with Endpoint(fails(500)) as endpoint:
        asyncio.run(run(endpoint, chat_at(endpoint, budget=budget, retries=100, backoff=10)))
    assert budget._reserved == 0


class Slow:
    """Answers when it is told to: an engine's model, and the client of an endpoint."""

    def __init__(self, comes):
        self.comes, self.answer = comes, None
        self.chat = self.completions = self

    async def acomplete(self, _):
        self.answer = asyncio.get_running_loop().create_future()
        return await self.answer

    async def create(self, **_):
        return await self.acomplete(())

    def come(self):
        settle = self.answer.set_exception if isinstance(self.comes, Exception) else self.answer.set_result
        self.answer.get_loop().call_soon_threadsafe(lambda: self.answer.done() or settle(self.comes))


@pytest.mark.parametrize("comes", [["an answer"], OSError("an error"), TimeoutError("late")])
@pytest.mark.parametrize("where", ["endpoint", "engine"])
def test_cancelling_as_an_answer_comes_cancels(where, comes, monkeypatch):
    """Python 3.11's `asyncio.wait_for` returns the answer, and the task goes on."""

    async def run(chat, model):
        monkeypatch.setattr(OpenAIChat, "_connect", lambda _: model)
        batch = Batch(Complete((HELLO,), model), 60.0)
        task = asyncio.create_task(chat.acomplete([HELLO]) if where == "endpoint" else runner._await(batch))
        while model.answer is None:
            await asyncio.sleep(0)
        model.come()
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()

    chat = OpenAIChat("http://localhost/v1", "m", budget=Budget(tokens=1000))
    asyncio.run(run(chat, Slow(comes)))
    assert chat.budget._reserved == 0


async def requests_under_way():
    return [task for task in asyncio.all_tasks() if "Endpoint._send" in repr(task)]


def test_a_call_that_is_given_up_ends():
    with Endpoint(hangs(LONG)) as endpoint:
        (result,) = called(chat_at(endpoint, timeout=0.5, retries=0), HELLO)
        assert "no answer in 0.5 s" in str(result)
        until = time.monotonic() + LONG / 2
        while given_up := run_coroutine(requests_under_way()):
            assert time.monotonic() < until, given_up
            time.sleep(0.02)


def test_a_forked_process_makes_calls():
    code = """
import asyncio, os, time
from advchunk.engine.threads import run_coroutine
run_coroutine(asyncio.sleep(0))
child = os.fork()
run_coroutine(asyncio.sleep(0))  # hangs if it is left to a thread that the child does not have
print(child and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, timeout=LONG, text=True)
    assert done.stdout == "0\n0\n", done.stderr


def test_a_model_that_goes_leaves_no_connection_open():
    with Endpoint() as endpoint:
        chat = chat_at(endpoint)
        also = as_chat(chat, concurrency=1)
        assert called(chat, HELLO) == ["ok"]
        client = chat._client.client
        del chat
        assert called(also, HELLO) == ["ok"]
        assert not client.is_closed()
        del also
        until = time.monotonic() + LONG
        while not client.is_closed():
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_copy_in_another_process_works():
    with Endpoint(says('{"a": 1}')) as endpoint:
        chat = chat_at(endpoint, options={"top_p": 0.5}, budget=Budget(tokens=5000))
        chat.complete([JSON])
        for again in (pickle.loads(pickle.dumps(chat)), copy.deepcopy(chat)):
            assert again.complete([JSON]) == ['{"a": 1}']
            assert again.identity == chat.identity
            assert again.budget.spent.requests == again.usage.requests == 2
        assert chat.usage.requests == 1


# Names in caches.


def test_names_tell_settings_apart():
    call_settings = {"timeout": 3, "retries": 0, "concurrency": 1, "budget": Budget(), "api_key_env": "OTHER"}
    assert OpenAIChat("http://a/v1", "m").identity == OpenAIChat("http://a/v1", "m", **call_settings).identity


def test_names_of_frameworks_models():
    def named(**fields):
        return as_chat(SimpleNamespace(**{"model_name": "one", "invoke": str, **fields})).identity

    assert named() == named(api_key=KEY)
    assert len({named(), named(temperature=0.5), named(model_name="two"), as_chat(lambda _: "hi").identity}) == 4
    assert KEY not in named(model_kwargs={"key": KEY})


# Keys.


@both
def test_a_key_that_cannot_be_sent_is_not_shown(complete, monkeypatch):
    for bad in (f"{KEY}é", f"{KEY}\n{KEY}"):
        monkeypatch.setenv("OPENAI_API_KEY", bad)
        with pytest.raises(ConfigurationError, match="OPENAI_API_KEY must contain a key of ASCII") as caught:
            complete(OpenAIChat("http://localhost/v1", "m"), HELLO)
        assert KEY[:12] not in "".join(traceback.format_exception(caught.value))


def test_a_short_key_hides_no_word_of_an_answer(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "EMPTY")
    with Endpoint(says("The EMPTY room")) as endpoint:
        assert chat_at(endpoint).complete([HELLO]) == ["The EMPTY room"]


def test_loops_and_threads_may_share_a_model():
    with Endpoint() as endpoint:
        chat = chat_at(endpoint)
        for _ in range(3):  # one event loop after the other
            assert awaited(chat, HELLO) == called(chat, HELLO) == ["ok"]
        threads = [threading.Thread(target=chat.complete, args=(numbered(5),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert chat.usage == Usage(46, 322, 138)
