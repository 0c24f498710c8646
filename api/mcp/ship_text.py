"""Verdict of an experiment as Markdown of at most 8,000 bytes, which an assistant reads at once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from engine.analysis.results.goal_limits import is_lower_better, row_status
from engine.analysis.results.report import GoalReport, Report
from engine.analysis.results.variant_result import VariantResult
from engine.display.document import Block, Card, Document, Notes, Table
from engine.display.markdown_text import markdown_of
from engine.display.report_document import goal_table, health_notes, primary_first, verdict_card

MOST_BYTES: Final = 8_000
# Rows of a table and open checks that are tried, until the text fits.
_ROWS: Final = (100, 50, 30, 20, 12, 8, 5, 3, 1)
_FEW: Final = 12
_SENTENCE: Final = 400
_MORE: Final = "…\n\nThe text is cut: get_results has everything.\n"
# The variant that matters most to a guardrail comes first.
_HARM: Final = ("harmed", "loser", "inconclusive")


def ship_text(report: Report) -> str:
    """Write the verdict, the open checks and every goal; of wide experiments the rows that matter most."""
    whole = (goal_table(goal, report) for goal in primary_first(report))
    text = markdown_of(_document(report, whole, _ROWS[0]))
    if _fits(text):
        return text
    for rows in _ROWS:
        document = _document(report, _few_tables(report, rows), rows)
        # Long names make long sentences: they are cut before the last rows are left out.
        text = markdown_of(document if rows > _FEW else _with_short_sentences(document))
        if _fits(text):
            return text
    return text.encode()[: MOST_BYTES - len(_MORE.encode())].decode(errors="ignore") + _MORE


def _fits(text: str) -> bool:
    return len(text.encode()) <= MOST_BYTES


def _document(report: Report, tables: Iterator[Table], checks: int) -> Document:
    """Build the verdict card, the health checks that it does not name already, and the tables."""
    card = verdict_card(report)
    said = "" if report.primary is None else report.primary.decision.explanation
    is_alarm_first = sorted(report.health, key=lambda check: check.status != "alarm")
    open_checks = [check for check in is_alarm_first if check.is_open and check.message not in said]
    blocks: list[Block] = [card] if card else []
    if open_checks:
        blocks.append(health_notes(replace(report, health=tuple(open_checks[:checks]))))
    return Document(summary=(), blocks=(*blocks, *tables))


def _with_short_sentences(document: Document) -> Document:
    return replace(document, blocks=tuple(map(_short, document.blocks)))


def _short(block: Block) -> Block:
    match block:
        case Card():
            return replace(
                block,
                headline=_cut(block.headline),
                sentences=tuple(map(_cut, block.sentences)),
                next_step=None if block.next_step is None else _cut(block.next_step),
            )
        case Notes():
            return replace(block, lines=tuple((kind, _cut(line)) for kind, line in block.lines))
        case _:
            return block


def _cut(text: str) -> str:
    return text if len(text) <= _SENTENCE else f"{text[:_SENTENCE]}…"


def _few_tables(report: Report, rows: int) -> Iterator[Table]:
    """Build the table of the primary goal, and one of the others with a row for each."""
    for goal in primary_first(report):
        if goal.goal.is_primary:
            kept = _leading(goal, rows)
            left = len(goal.variants) - len(kept)
            yield _with_note(goal_table(replace(goal, variants=kept), report), left, "variants")
    others = sorted(
        (goal for goal in report.goals if not goal.goal.is_primary),
        key=lambda goal: (not goal.goal.is_guardrail, _harm(report, goal, _telling(report, goal))),
    )
    if others:
        yield _with_note(_one_row_each(report, others[:rows]), len(others) - rows, "goals")


def _one_row_each(report: Report, goals: Sequence[GoalReport]) -> Table:
    """Build a table of goals: the best variant of each, and of a guardrail the one with most harm."""
    tables = [goal_table(replace(goal, variants=(_telling(report, goal),)), report) for goal in goals]
    names = [f"{goal.goal.name} (guardrail)" if goal.goal.is_guardrail else goal.goal.name for goal in goals]
    return Table(
        title="Other goals: the variant that is ahead, and of a guardrail the one that harms it most",
        headings=("Goal", "Variant", "Metric", "Change", "Interval", "Result"),
        rows=tuple(
            (name, row[0], *row[3:]) for name, table in zip(names, tables, strict=True) for row in table.rows
        ),
    )


def _with_note(table: Table, left: int, kind: str) -> Table:
    note = f"{left} further {kind} are left out: get_results has them."
    return replace(table, notes=(*table.notes, note)) if left > 0 else table


def _leading(goal: GoalReport, rows: int) -> tuple[VariantResult, ...]:
    """Return the control and the variants that are ahead, at least one, in their own order."""
    ahead = sorted(goal.variants, key=lambda one: (not one.is_control, -_gain(goal, one)))
    kept = {one.variant_id for one in ahead[: max(rows, 2)]}
    return tuple(one for one in goal.variants if one.variant_id in kept)


def _telling(report: Report, goal: GoalReport) -> VariantResult:
    """Return the variant that is ahead on a goal, or does a guardrail most harm; a control alone."""
    others = [one for one in goal.variants if not one.is_control] or list(goal.variants)
    if goal.goal.is_guardrail:
        return min(others, key=lambda one: (_harm(report, goal, one), _gain(goal, one)))
    return max(others, key=lambda one: _gain(goal, one))


def _harm(report: Report, goal: GoalReport, variant: VariantResult) -> int:
    """Rank the status of a variant: 0 is harm."""
    status = row_status(report, goal, variant)
    return _HARM.index(status) if status in _HARM else len(_HARM)


def _gain(goal: GoalReport, variant: VariantResult) -> float:
    """Return the change in the wanted direction; what is not known comes last."""
    if variant.improvement is None:
        return float("-inf")
    return -variant.improvement if is_lower_better(goal) else variant.improvement
