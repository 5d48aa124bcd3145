"""A real browser for the tests of pages."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from urllib.parse import urlencode

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="needs a browser: chromium or google-chrome")


class Seen:
    """What the browser makes of a page: its DOM, what it complains of, and what the page asks the network for."""

    def __init__(self, page, folder, chosen=None, script=""):
        file, log = folder / "seen.html", folder / "net.json"
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        page = page.replace("script-src 'sha256-", f"script-src 'sha256-{digest}' 'sha256-")
        file.write_text(page.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
        flags = [
            "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder / 'profile'}", "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=100000", "--enable-logging=stderr",
            f"--log-net-log={log}", "--dump-dom",
        ]  # fmt: skip
        address = f"{file.as_uri()}#{urlencode(chosen or {})}"
        ran = subprocess.run([BROWSER, *flags, address], capture_output=True, text=True, check=True, timeout=300)
        self.dom = ran.stdout
        self.complaints = re.findall(r":CONSOLE\S* (.*)", ran.stderr)
        events = [event.get("params", {}) for event in json.loads(log.read_text("utf-8", "replace"))["events"]]
        self.asked = {  # the browser itself asks its maker, too
            event["url"] for event in events if event.get("initiator", "not an origin") != "not an origin"
        }
