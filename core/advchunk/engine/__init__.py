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

from advchunk.engine.asks import BATCH_SIZE, METHODS, Ask, Choose, Complete, Embed, Request, Score
from advchunk.engine.drivers import Watch, adrive, drive
from advchunk.engine.plans import Job, Plan, finished, together
from advchunk.engine.scheduler import Scheduler
from advchunk.engine.threads import in_thread, within

__all__ = [
    "BATCH_SIZE",
    "METHODS",
    "Ask",
    "Choose",
    "Complete",
    "Embed",
    "Job",
    "Plan",
    "Request",
    "Scheduler",
    "Score",
    "Watch",
    "adrive",
    "drive",
    "finished",
    "in_thread",
    "together",
    "within",
]
