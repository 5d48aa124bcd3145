"""Warnings that would otherwise repeat at every search."""

import logging

_log = logging.getLogger("advchunk")


class WarningLog:
    """Logs the first warning of each kind."""

    def __init__(self) -> None:
        self._logged = set[str]()

    def warn(self, kind: str, message: str, *values: object) -> None:
        """Log a warning, unless there has been one of its kind."""
        if kind not in self._logged:
            self._logged.add(kind)
            _log.warning(message, *values)
