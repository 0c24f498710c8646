"""Golden file of sentences: `python -m tests.engine.analysis.report.verdicts` writes it again."""

from pathlib import Path

from engine.analysis.results.report import DecisionSummary
from tests.engine.analysis.report.situations import SITUATIONS, report_of

GOLDEN = Path(__file__).parent / "verdicts.md"
_TITLE = "# Situations and the sentences they give\n"


def verdicts() -> str:
    """Write every situation: its numbers, and the summaries of its goals."""
    return "\n".join([_TITLE, *(_section(name, situation.numbers) for name, situation in SITUATIONS.items())])


def _section(name: str, numbers: str) -> str:
    report = report_of(name)
    goals = [_primary(goal.decision) for goal in report.goals if goal.goal.is_primary]
    goals += [_secondary(goal.decision) for goal in report.goals if not goal.goal.is_primary]
    return "\n".join([f"## {name[0].upper()}{name[1:]}", "", f"`{numbers}`", "", *goals])


def _primary(decision: DecisionSummary) -> str:
    action = decision.recommendation + ("" if decision.reason is None else f", {decision.reason}")
    return (
        f"**{decision.headline}** ({action}: {decision.recommendation_label}, {decision.tone})\n\n"
        f"- {decision.explanation}\n- Next: {decision.next_step}\n- {decision.confidence_assessment}\n"
    )


def _secondary(decision: DecisionSummary) -> str:
    return f"- **{decision.headline}** {decision.explanation} {decision.confidence_assessment}\n"


if __name__ == "__main__":
    GOLDEN.write_text(verdicts())
