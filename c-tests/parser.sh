#!/usr/bin/env bash
# parser.sh ONE OTHER: what one process has written, another reads, also where it is linked otherwise.
set -euo pipefail
"$1" write | "$2" read
"$2" write | "$1" read
