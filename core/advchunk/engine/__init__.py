"""Ask, don't call: plans say what they need from a model; one engine answers them all.

A plan is a generator. It yields an ask, is sent the answer (a model's failure is raised where
it asked), and returns its result:

    def decide(self, units, limits):
        vectors = yield Embed(tuple(units.strings()), self.model)
        return self.segment(units, vectors, limits)

No algorithm knows whether it runs alone, beside a thousand others, or under ``await``. A
`Scheduler` merges the asks of many plans into full, de-duplicated batches and never calls
anything itself; `drive` and `adrive` call, or await, the models. It admits a new plan only
when it cannot fill a batch, so memory is bounded by the batches under way, one more, and one
plan, however many there are.

A model says how many items a call it likes (``batch_size``) and how many calls at a time
(``concurrency``). It answers with one row an item; a row that is an exception fails only the
plans that asked for it.
"""

from advchunk.engine.asks import BATCH_SIZE, METHODS, Ask, ChatRequest, Choose, Complete, Embed, Score
from advchunk.engine.plans import Job, Plan, completed, gather
from advchunk.engine.runner import Watch, adrive, drive
from advchunk.engine.scheduler import Scheduler
from advchunk.engine.threads import call_in_thread, call_with_timeout

__all__ = [
    "BATCH_SIZE",
    "METHODS",
    "Ask",
    "ChatRequest",
    "Choose",
    "Complete",
    "Embed",
    "Job",
    "Plan",
    "Scheduler",
    "Score",
    "Watch",
    "adrive",
    "call_in_thread",
    "call_with_timeout",
    "completed",
    "drive",
    "gather",
]
