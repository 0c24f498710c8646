"""The engine: pure statistics, experiment design and analysis."""

from engine.shown_result import Displays, ShownResult


def _displays() -> Displays:
    # Not with the package: they take Altair's and vl-convert's time.
    from engine.display import displays  # noqa: PLC0415

    return displays


ShownResult.displays = staticmethod(_displays)
