"""Server processes that start fast: a script that imports the service once, and forks a server per line.

Each line of input is `<port> <data folder>`; the answer is the process id of a server of its own, which
serves until it is killed.
"""

import os
import signal
import sys
from pathlib import Path

import uvicorn

from api.app import create_app
from pipeline.settings import Settings


def main() -> None:
    """Fork a server for each line of the input."""
    # A killed server leaves no zombie process behind.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        port, data_dir = line.split(maxsplit=1)
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            app = create_app(Settings(data_dir=Path(data_dir.strip())))
            uvicorn.run(app, port=int(port), log_level="warning", access_log=False)
            os._exit(0)
        print(child, flush=True)  # noqa: T201 (the answer)


if __name__ == "__main__":
    main()
