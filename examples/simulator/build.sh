#!/bin/sh
# Make ./suspension: from C if there is a compiler, from Python if not.
set -eu
cd "$(dirname "$0")"
if command -v "${CC:-cc}" >/dev/null 2>&1; then
    "${CC:-cc}" -O2 -o suspension suspension.c -lm
    echo "built ./suspension from suspension.c"
else
    cp suspension.py suspension
    chmod +x suspension
    echo "no C compiler: ./suspension is the Python version, a little slower"
fi
