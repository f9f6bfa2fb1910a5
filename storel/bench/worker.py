"""The process that measures a task from standard input: ``python -m storel.bench.worker FILE RUNNING``.

What it finds goes to the first file, since libraries may print. The second one holds the name of the
contestant that runs, in case that it ends the process. A mistake of the user is told on standard error.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from storel.bench.measure import measure
from storel.bench.task import Task
from storel.errors import StorelError

MISTAKE = 4
"""The exit code for what the user can mend; any other but 0 is a failure of storel."""


def main() -> None:
    """Measure what standard input says."""
    running = Path(sys.argv[2])
    try:
        found = measure(
            Task.from_json(sys.stdin.read()), lambda name: running.write_text(name, encoding="utf-8")
        )
    except StorelError as error:
        print(error, file=sys.stderr)
        sys.exit(MISTAKE)
    except MemoryError as error:
        print(f"the data does not fit into memory: {error}", file=sys.stderr)
        sys.exit(MISTAKE)
    Path(sys.argv[1]).write_text(json.dumps(asdict(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
