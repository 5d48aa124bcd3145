"""A report on a comparison: a page of Markdown, and all figures as JSON."""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from advchunk.errors import require
from advchunk.evaluation.comparison import tables
from advchunk.evaluation.comparison.comparisons import Comparison
from advchunk.evaluation.comparison.harness import FailedCandidate
from advchunk.evaluation.comparison.task import EvaluationTask
from advchunk.evaluation.metrics.statistics import CONFIDENCE, RESAMPLES, SEED
from advchunk.evaluation.metrics.table import metrics
from advchunk.models.identity import identity
from advchunk.text.templates import fill_text


def write_report(
    folder: str | Path,
    task: EvaluationTask,
    rows: Sequence[Comparison],
    *,
    metric: str = "recall",
    notes: Mapping[str, str] | None = None,
    run_info: Mapping[str, Any] | None = None,
    failures: Sequence[FailedCandidate] = (),
) -> Path:
    """Write ``report.md`` and ``results.json``, and return the folder.

    The folder is created if missing; its files of these names are overwritten. Raises `ConfigurationError` for no rows.

    Parameters
    ----------
    rows : from `compare`, or from `compare_by_kind`: then each kind has a section of its own.
    metric, notes, run_info, failures : as in `tables.as_markdown`.
    """
    require(len(rows) > 0, "rows must have a candidate", rows)
    facts = provenance(task, run_info)
    options: Any = {"metric": metric, "notes": notes, "run_info": run_info, "failures": failures}
    page = fill_text(
        tables.read_template("report.md"),
        comparison=tables.as_markdown(rows, task=task, **options),
        task=task,
        metrics=metrics(),
        needs={name: sum(map(bool, needed)) for name, needed in task.needs.items()},
        provenance=json.dumps({name: value for name, value in facts.items() if name != "documents"}, indent=1),
        settings={row.result.label: json.dumps(row.result.settings) for row in rows},
    )
    results = {
        "provenance": facts,
        "metric": metric,
        "notes": notes or {},
        "comparisons": tables.as_rows(rows),
        "failures": [asdict(failure) for failure in failures],
        "results": [row.result.to_dict() for row in rows],
    }
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"report.md": page, "results.json": json.dumps(results, indent=1) + "\n"}.items():
        # A label may contain a lone surrogate, which UTF-8 cannot encode.
        (folder / name).write_bytes(text.encode("utf-8", "xmlcharrefreplace"))
    return folder


def provenance(task: EvaluationTask, run_info: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the versions, embedder, seeds and settings needed to repeat a run; JSON-able."""
    versions = {"advchunk": version("advchunk"), "numpy": np.__version__}
    for name in ("scipy", "networkx", "scikit-learn", "transformers"):  # chunks may depend on them, if installed
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return {
        **versions,
        "python": platform.python_version(),
        "platform": sys.platform,
        "embedder": identity(task.embedder),
        "k": task.k,
        "budget": task.budget,
        "budgets": list(task.budgets),
        "bootstrap": {"confidence": CONFIDENCE, "resamples": RESAMPLES, "seed": SEED},
        "documents": {document.source: len(document.text) for document in task.documents},
        "questions": len(task.questions),
        "digest": task.digest,
        **({"run": dict(run_info)} if run_info else {}),
    }
