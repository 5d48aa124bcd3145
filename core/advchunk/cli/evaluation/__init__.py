"""The commands that compare chunkers on your documents."""

from advchunk.registry import Registration

REGISTRATIONS = (
    Registration(
        kind="command",
        name="evaluate",
        path="advchunk.cli.evaluation.commands:evaluate_command",
        summary="compare chunkers",
    ),
    Registration(
        kind="command",
        name="recommend",
        path="advchunk.cli.evaluation.commands:recommend_command",
        summary="choose a chunker",
    ),
    Registration(
        kind="command",
        name="questions",
        path="advchunk.cli.evaluation.commands:questions_command",
        summary="write questions on documents",
    ),
)
