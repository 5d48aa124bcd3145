"""Files that appear under their name only when they are complete."""

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from os.path import realpath
from pathlib import Path
from secrets import token_hex
from typing import IO, Any


@contextmanager
def open_atomic(path: str | Path, mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """Open a file to write, as `Path.open` does; it replaces ``path`` when the block ends without an error. It keeps
    the old permissions and follows a symbolic link; a device, such as /dev/null, is written to, not replaced.
    """
    target = Path(realpath(path))
    if target.exists() and not target.is_file():
        with target.open(mode, **options) as device:
            yield device
        return
    permissions = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    partial = target.with_name(f".advchunk-{token_hex(8)}")
    try:
        partial.touch(0o666 if permissions is None else 0o600, exist_ok=False)  # a signal may interrupt from here on
        with partial.open(mode, **options) as file:
            yield file
        if permissions is not None:
            partial.chmod(permissions)
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
