#!/usr/bin/env bash
# Install the programs that some tests need: a Redis server, a browser for the report, and Java for Spark. Tests whose program is missing are skipped.
set -uo pipefail
missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v chromium >/dev/null || command -v google-chrome >/dev/null || command -v chromium-browser >/dev/null || missing+=(chromium)
command -v java >/dev/null || missing+=(default-jre-headless)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get install -qq -y "${missing[@]}" || { apt-get update -qq && apt-get install -qq -y "${missing[@]}"; }; } >/dev/null 2>&1 && exit 0
fi
echo "not installed, their tests will be skipped: ${missing[*]}" >&2
