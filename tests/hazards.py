"""A token counter that kills the process it runs in; workers import it from here."""

import os
import signal


def die_at_poison(text):
    if "POISON" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return len(text.split())
