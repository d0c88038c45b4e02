#!/bin/bash
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python3 "$here/repair.py" /app
cd /app
python3 -m unittest discover -s tests
