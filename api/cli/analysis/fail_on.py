"""Exit status of `analyze --fail-on`: a recommendation that fails a pipeline."""

from typing import TYPE_CHECKING, Annotated, Final, get_args

import typer

if TYPE_CHECKING:
    from engine.analysis.results.report import Report

# Exit status where the recommendation is one of those given.
FAILED_ON: Final = 3
FailOnOption = Annotated[
    str | None,
    typer.Option(
        "--fail-on",
        help="Recommendations, separated by commas, that end the command with exit status 3, such as"
        " `fix_data,rollback`.",
    ),
]


def recommendations(text: str | None) -> frozenset[str]:
    """Parse `fix_data,rollback`; none without the option; BadParameter for an unknown or empty one."""
    from engine.analysis.results.report import Recommendation

    if text is None:
        return frozenset()
    given = frozenset(part.strip() for part in text.split(","))
    known = get_args(Recommendation)
    for one in sorted(given - set(known)):
        raise typer.BadParameter(f"--fail-on {one!r} is no recommendation; use some of {', '.join(known)}")
    return given


def exit_on(report: "Report", failing: frozenset[str]) -> None:
    """Exit with status 3 where the recommendation is one of those; typer.Exit."""
    if report.primary is not None and report.primary.decision.recommendation in failing:
        raise typer.Exit(FAILED_ON)
