"""A real small model behind a real OpenAI-compatible server on loopback: `transformers serve` with SmolLM2."""

import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from advchunk import OpenAIChat
from advchunk.engine import ChatRequest, Complete, Job, drive
from advchunk.models.chat import as_chat
from lm import smollm2
from servers import free_port

pytestmark = pytest.mark.slow

PATIENCE = 240  # seconds to start, on a busy machine


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return the address of a server, which loads a model when it is asked by its name."""
    port, home = free_port(), tmp_path_factory.mktemp("hub")
    command = [Path(sys.executable).with_name("transformers"), "serve", "--device", "cpu", "--host", "127.0.0.1"]
    log = (home / "log").open("w+")
    process = subprocess.Popen(
        [*command, "--port", str(port)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(home), "OMP_NUM_THREADS": "1"},
        stdout=log,
        stderr=log,
    )
    try:
        until = time.monotonic() + PATIENCE
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, (home / "log").read_text()[-2000:]
                assert time.monotonic() < until, "it did not start in time"
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(20)
        log.close()


def test_a_real_model_answers_through_a_real_server(served):
    chat = OpenAIChat(served, smollm2(), timeout=PATIENCE, retries=1)
    asked = ChatRequest((("user", "Say in one word: the capital of France is"),), max_tokens=8)

    def plan():
        answers = yield Complete((asked,), as_chat(chat))
        return answers

    (answer,) = drive([Job(plan())])
    assert "Paris" in answer[0]
    assert chat.usage.requests == 1
    assert chat.usage.tokens_in > 0
