#!/bin/bash
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

python3 /app/desk/desk.py serve >/tmp/desk.log 2>&1 &
desk=$!
trap 'kill "$desk" 2>/dev/null || true; wait "$desk" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
  grep -q listening /tmp/desk.log && break
  kill -0 "$desk" 2>/dev/null || { cat /tmp/desk.log >&2; exit 1; }
  sleep 0.1
done
python3 "$here/resolve.py" --out /app/report.json
