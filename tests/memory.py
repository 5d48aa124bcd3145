import subprocess
import sys

_PRINT_PEAKS = """
import sys, tracemalloc
imports, *statements = sys.argv[1:]
exec(imports)
exec(statements[0])  # loads what is loaded once
for statement in statements:
    tracemalloc.start()
    exec(statement)
    print(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
"""


def peaks(imports: str, *statements: str) -> list[int]:
    """Return the peak memory of each statement in bytes; in another process, since threads of other tests allocate,
    too."""
    command = [sys.executable, "-c", _PRINT_PEAKS, imports, *statements]
    return [int(line) for line in subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()]
