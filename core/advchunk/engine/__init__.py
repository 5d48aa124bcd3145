"""Plans, and the engine that runs them.

A plan is a generator. It yields a request to a model, receives the answer (the model's error is raised at the
``yield``), and returns its result:

    def decide(self, units, limits):
        vectors = yield Embed(tuple(units.strings()), self.model)
        return self.segment(units, vectors, limits)

An algorithm does not know whether it runs alone, beside a thousand others, or under ``await``. A `Scheduler` merges the
requests of many plans into full batches without duplicates; `drive` and `adrive` call, or await, the models. A new plan
starts only when the running ones cannot fill a batch, so memory is bounded by the batches in flight, one more, and one
plan.

A model sets its number of items per call (``batch_size``) and of concurrent calls (``concurrency``). It returns one row
per item; a row that is an exception fails only the plans that requested it.
"""

from advchunk.engine.asks import BATCH_SIZE, Ask, ChatRequest, Choose, Complete, Embed, EmbedTokens, Score
from advchunk.engine.plans import Job, Plan, completed, gather
from advchunk.engine.runner import Watch, adrive, drive, run_job
from advchunk.engine.threads import call_in_thread, call_with_timeout

__all__ = [
    "BATCH_SIZE", "Ask", "ChatRequest", "Choose", "Complete", "Embed", "EmbedTokens", "Job", "Plan", "Score", "Watch",
    "adrive", "call_in_thread", "call_with_timeout", "completed", "drive", "gather", "run_job",
]  # fmt: skip
