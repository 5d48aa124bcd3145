"""``python -m advchunk`` is the command ``advchunk``."""

from advchunk.cli import main

if __name__ == "__main__":
    main(prog_name="advchunk")
