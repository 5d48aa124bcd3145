#!/usr/bin/env bash
# Install advchunk with all extras beside the newest releases of what people use with it, in an environment of its own, and import all of them.
# Usage: PYTHON=python3.13 tools/try_install.sh [FOLDER]; the environment stays in FOLDER if it is given.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH
others=(langchain langchain-classic llama-index-core llama-index-readers-file unstructured docling-core)

"${PYTHON:-python3}" -m venv "$folder"
"$folder/bin/python" -m pip install --quiet --upgrade '.[all]' "${others[@]}"
"$folder/bin/python" -m pip check
cd "$folder"
HF_HUB_OFFLINE=1 bin/python -W error::DeprecationWarning:advchunk - <<'END'
import sys
from importlib import import_module
from importlib.metadata import version

import advchunk, advchunk.cli, langchain_advchunk, llamaindex_advchunk

names = "langchain langchain_classic langchain_core llama_index.core llama_index.readers.file unstructured docling_core"
for name in names.split():
    import_module(name)
for package in (advchunk, langchain_advchunk, llamaindex_advchunk):
    for name in dir(package):
        getattr(package, name)
packages = "advchunk langchain-core langchain llama-index-core llama-index-readers-file unstructured docling-core torch"
print(f"Python {sys.version.split()[0]}:", *(f"{name} {version(name)}" for name in packages.split()), sep="\n  ")
END
