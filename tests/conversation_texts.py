"""Small texts that are conversations, with their speakers, and texts that look a little like one and are none."""

import tomllib
from pathlib import Path

_DATA = tomllib.loads(Path(__file__).with_name("data").joinpath("conversations.toml").read_text(encoding="utf-8"))
TRANSCRIPTS = {name: (case["text"], case["speakers"]) for name, case in _DATA["transcripts"].items()}
OTHERS = _DATA["others"]
VTT, ROLLING, SRT, SLACK, DISCORD, TEAMS, WHATSAPP = _DATA["files"].values()
