"""Threads of worker processes; this module must not import Polars, which counts its threads at import."""

import os


def use_one_thread() -> None:
    """Let a worker process use one thread, as there is one process for each core."""
    os.environ["POLARS_MAX_THREADS"] = "1"
