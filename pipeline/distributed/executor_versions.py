"""Versions of Python and of packages on executors, which must be those of the starting process."""

import importlib.metadata
import platform
from collections.abc import Callable
from typing import Final

# Counts follow from these; what else is installed does not matter.
_PACKAGES: Final = ("truelift", "polars", "duckdb", "pyarrow", "numpy")
# Before the sentence for the operator, in the middle of Spark's own report.
MARK: Final = "The executor's packages differ"


class ExecutorVersionsError(Exception):
    """An executor lacks packages, or has other versions; the message names them and what to do."""

    def __init__(self, difference: str) -> None:
        """Say what differs, and what to do."""
        super().__init__(
            f"{difference}; give every executor the Python and the packages of this process "
            "(`PYSPARK_PYTHON`, or `spark.archives` with a packed environment)"
        )


def version_check() -> Callable[[], None]:
    """Make a function that raises RuntimeError with MARK where versions are not those of this process.

    It is sent to executors as code, since they may lack this module.
    """
    mark = MARK
    expected = {name: importlib.metadata.version(name) for name in _PACKAGES}
    expected_python = ".".join(platform.python_version_tuple()[:2])

    def check() -> None:
        import importlib.metadata as installed  # noqa: PLC0415 - imported where this is sent
        import platform as executor  # noqa: PLC0415 - same
        import socket  # noqa: PLC0415 - same

        found = {"Python": (".".join(executor.python_version_tuple()[:2]), expected_python)}
        for name, wanted in expected.items():
            try:
                found[name] = (installed.version(name), wanted)
            except installed.PackageNotFoundError:
                found[name] = ("none", wanted)
        differing = {name: both for name, both in found.items() if both[0] != both[1]}
        wrong = [f"{name} is {there} there and {here} here" for name, (there, here) in differing.items()]
        if wrong:
            raise RuntimeError(f"{mark} on {socket.gethostname()}: {', '.join(wrong)}")

    return check
