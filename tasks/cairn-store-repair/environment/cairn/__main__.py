"""`python3 -m cairn COMMAND FOLDER`: look at a store, or compact it, while nothing else has it open."""

import argparse
import json
import sys

from .errors import CairnError
from .store import open_store


def main(argv=None):
    parser = argparse.ArgumentParser(prog="cairn", description=__doc__)
    parser.add_argument("command", choices=("dump", "stats", "compact"))
    parser.add_argument("folder")
    parser.add_argument("--prefix", help="only keys that begin with this (dump)")
    parser.add_argument("--min-dead", type=float, default=0.5, help="share of dead bytes (compact)")
    options = parser.parse_args(argv)
    try:
        with open_store(options.folder) as store:
            if options.command == "dump":
                for key, value in store.scan(prefix=options.prefix):
                    print(json.dumps({"key": key, "value": value.hex(), "ttl_ms": store.ttl(key)}))
            elif options.command == "stats":
                print(json.dumps(store.stats()))
            else:
                print(json.dumps(store.compact(options.min_dead)))
    except CairnError as error:
        print(f"cairn: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
