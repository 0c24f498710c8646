"""Table of decisions of the command `calibrate`, and its CSV file."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.console import err, out, progress

if TYPE_CHECKING:
    from rich.table import Table

    from engine.calibration.decisions.decision_rates import DecisionRates

# Heading and name of each figure.
_COLUMNS = (
    ("ship", "ship"),
    ("back", "rollback"),
    ("ship\nd 84", "ship by day 84"),
    ("back\nd 84", "rollback by day 84"),
    ("stop", "auto-stop"),
    ("no\ndiff", "no difference"),
    ("power", "power"),
    ("used", "sample used"),
    ("stop\n2x", "auto-stop at 2x"),
    ("rise", "false no difference, rise"),
    ("fall", "false no difference, fall"),
    ("guard", "guardrail broken"),
    ("harm", "harm found"),
)


def simulate(runs: int, seed: int, *, all_cases: bool) -> "list[DecisionRates]":
    """Simulate the decisions of every case."""
    from engine.calibration.decisions import decision_rates, standard_cases

    cases = standard_cases.ALL_CASES if all_cases else standard_cases.DEFAULT_CASES
    rates: list[DecisionRates] = []
    with progress() as bar:
        task = bar.add_task("Decisions", total=len(cases))
        for one in decision_rates.calibrate_decisions(cases, runs=runs, seed=seed):
            rates.append(one)
            bar.update(task, advance=1)
    return rates


def print_table(rates: "Sequence[DecisionRates]", runs: int) -> None:
    """Print the table of decisions, and a sentence for each case with secondary goals or guardrails."""
    out.print(_table(rates, runs))
    for one in rates:
        if one.case.secondary:
            out.print(_secondary(one), highlight=False)
        elif one.case.guardrail is not None:
            out.print(_guarded(one), highlight=False)


def missed(rates: "Sequence[DecisionRates]") -> list[str]:
    """Return a sentence if a bar is missed."""
    found = [f"{_label(one)}, {one.case.method}: {', '.join(one.missed)}" for one in rates if one.missed]
    return [f"bars of decisions missed beyond chance: {'; '.join(found)}"] if found else []


def _label(rates: "DecisionRates") -> str:
    case = rates.case
    return f"{case.name}, {case.split}, {case.plan_label}"


def _table(rates: "Sequence[DecisionRates]", runs: int) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from engine.calibration.decisions.decision_rates import BARS

    table = Table(
        title=f"Decisions: percent of tests, {runs:,} runs each (revenue {runs // 4:,})",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1),
        collapse_padding=True,
        pad_edge=False,
    )
    for heading in ("case", "method"):
        table.add_column(heading, no_wrap=True)
    for heading, _ in _COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    bars = [BARS.get(name) for _, name in _COLUMNS]
    limits = ["" if bar is None else f"{'≥' if bar.is_least else '≤'}{bar.limit * 100:g}" for bar in bars]
    table.add_row("bar", "", *limits)
    table.add_section()
    for one in rates:
        if not one.case.secondary and one.case.guardrail is None:
            cells = [_cell(one, name) for _, name in _COLUMNS]
            table.add_row(_label(one), one.case.method, *cells)
    return table


def _cell(rates: "DecisionRates", name: str) -> str:
    figure = rates.figures.get(name)
    if figure is None:
        return ""
    text = f"{figure.value * 100:.1f}"
    return f"[red]{text}[/red]" if name in rates.missed else text


def _secondary(rates: "DecisionRates") -> str:
    found = {name: f"{figure.value * 100:.1f}%" for name, figure in rates.figures.items()}
    return (
        f"{rates.case.secondary} secondary goals ({_label(rates)}): harm of any is found in"
        f" {found['false secondary harm']} of tests without an effect. With two of them harmed by the planned"
        f" effect, each is found in {found['secondary harm found']}, and {found['false discoveries']} of"
        " discoveries are false."
    )


def _guarded(rates: "DecisionRates") -> str:
    case, found = rates.case, {name: f"{figure.value * 100:.1f}%" for name, figure in rates.figures.items()}
    rule = "to be shown non-inferior" if case.non_inferior else "that must not be found harmed"
    return (
        f"{case.guardrails} guardrail{'' if case.guardrails == 1 else 's'} {rule} ({_label(rates)}): a"
        f" variant with the planned effect ships in {found['shipped without harm']} of tests without"
        f" harm, and in {found['harm shipped']} where it harms one by its margin and the planned effect"
        f" ({found['harm shipped at 3x']} at three times the effect). At the margin"
        f" {found['shipped at the margin']} ship."
    )


def save(rates: "Sequence[DecisionRates]", folder: Path) -> None:
    """Write decisions.csv into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "decisions.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(records_of(rates[0])[0]))
        writer.writeheader()
        for one in rates:
            writer.writerows(records_of(one))
    err.print(f"Saved decisions.csv in {folder}.", highlight=False)


def records_of(rates: "DecisionRates") -> list[dict[str, object]]:
    """Describe each figure of a case as a row: shares, and no bar where there is none."""
    case = rates.case
    records: list[dict[str, object]] = []
    for name, figure in rates.figures.items():
        bar = rates.bar(name)
        records.append(
            {
                "metric": case.name,
                "rate": case.rate,
                "split": case.split,
                "plan_day": case.plan_day,
                "method": case.method,
                "minimum_effect": case.minimum_effect,
                "planned_effect": case.planned_effect,
                "delay_days": case.delay,
                "secondary_goals": case.secondary,
                "guardrails": 0 if case.guardrail is None else case.guardrails,
                "non_inferior": case.non_inferior,
                "runs": rates.runs,
                "figure": name,
                "value": figure.value,
                "error": figure.error,
                "bar": None if bar is None else bar.limit,
                "is_least": None if bar is None else bar.is_least,
                "is_met": name not in rates.missed,
            }
        )
    return records
