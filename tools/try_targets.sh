#!/usr/bin/env bash
# Run the advertised make targets in clean clones of what is committed, each as if it were the first command there.
# Targets share a clone only if Makefile makes the same environment for them, so that none relies on what another has installed.
# Usage: tools/try_targets.sh [FOLDER]; the clones stay in FOLDER if it is given.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-$(mktemp -d)}
[ $# -gt 0 ] || trap 'rm -rf "$folder"' EXIT
unset PYTHONPATH

try() { # try CLONE TARGET...: run those targets that Makefile has
    local clone=$folder/$1 target
    git clone --quiet . "$clone"
    for target in "${@:2}"; do
        grep -q "^$target:" Makefile || continue
        SECONDS=0
        make -C "$clone" "$target"
        echo "make $target: ok after $SECONDS s"
    done
}
try base demo
try docs docs
try dev check quick dist test-all
