"""Token counters that kill the process they run in, or never return; workers import them from here."""

import os
import signal
import time
from pathlib import Path


def die_at_poison(text):
    if "POISON" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())


def die_once(text):
    flag = Path(os.environ["ADVCHUNK_DIED"])
    if "ONCE" in text and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())


def wait(text):
    if Path(os.environ["ADVCHUNK_DIED"]).exists():
        time.sleep(300)
    return len(text.split())
