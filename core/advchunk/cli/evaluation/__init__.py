"""The commands that compare chunkers on your documents."""

from advchunk.registry import Registration

REGISTRATIONS = tuple(
    Registration(kind="command", name=name, path=f"advchunk.cli.evaluation.commands:{name}_command", summary=summary)
    for name, summary in (
        ("evaluate", "compare chunkers"),
        ("recommend", "choose a chunker"),
        ("questions", "write questions on documents"),
    )
)
