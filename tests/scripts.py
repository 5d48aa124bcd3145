"""Run a benchmark in the process of the tests, where its libraries are loaded by now."""

import sys
import warnings
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from unittest.mock import patch


def run(name, *arguments):
    """Return what a script in ``benchmarks`` prints; its exit is that of the script, and its warnings are not
    errors."""
    script, out = import_module(name), StringIO()
    with patch.object(sys, "argv", [name, *map(str, arguments)]), redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script.main()
    return out.getvalue()
