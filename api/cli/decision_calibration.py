"""Table of decisions of the command `calibrate`, and its CSV file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from api.cli.console import err, figures_table, out, progress, save_records

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from engine.calibration.decisions.decision_case import DecisionCase
    from engine.calibration.decisions.decision_rates import Bar, DecisionRates
    from engine.calibration.decisions.scenarios import Scenario

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
# The same of measures, and of wins beside guardrails.
_MORNINGS = (
    ("ship", "ship"),
    ("roll back", "rollback"),
    ("no difference", "no difference"),
    ("power", "power"),
)
_GUARDED_MORNINGS = (
    ("ships without harm", "shipped without harm"),
    ("ships harm", "harm shipped"),
    ("ships harm at 3x", "harm shipped at 3x"),
)


def simulate(runs: int, seed: int, *, all_cases: bool) -> "list[DecisionRates]":
    """Simulate the decisions of every case."""
    from engine.calibration.decisions import scenarios, standard_cases

    cases = standard_cases.ALL_CASES if all_cases else standard_cases.DEFAULT_CASES
    return _simulate(cases, scenarios.SCENARIOS, runs, seed)


def simulate_measures(runs: int, seed: int) -> "list[DecisionRates]":
    """Simulate the decisions on measures, looked at on each of 56 mornings."""
    from engine.calibration.decisions import measure_cases

    return _simulate(measure_cases.MEASURE_CASES, measure_cases.MORNINGS, runs, seed)


def _simulate(
    cases: "Sequence[DecisionCase]", scenarios: "Mapping[str, Scenario]", runs: int, seed: int
) -> "list[DecisionRates]":
    from engine.calibration.decisions import decision_rates

    rates: list[DecisionRates] = []
    with progress() as bar:
        task = bar.add_task("Decisions", total=len(cases))
        for one in decision_rates.calibrate_decisions(cases, runs=runs, seed=seed, scenarios=scenarios):
            rates.append(one)
            bar.update(task, advance=1)
    return rates


def print_table(rates: "Sequence[DecisionRates]", runs: int) -> None:
    """Print the table of decisions, and a sentence for each case with secondary goals or guardrails."""
    out.print(_table(rates, runs))
    for one in rates:
        if one.case.secondary:
            out.print(_secondary(one), highlight=False)
        elif one.case.ramp:
            out.print(_ramped(one), highlight=False)
        elif one.case.guardrail is not None:
            out.print(_guarded(one), highlight=False)


def print_mornings(rates: "Sequence[DecisionRates]") -> None:
    """Print the tables of decisions on measures, the bar beside each figure where cases differ in it."""
    percent = "percent of tests on any of 56 mornings; ± is the simulation's error"
    plain = [one for one in rates if one.case.guardrail is None]
    beside = [one for one in rates if one.case.guardrail is not None]
    out.print(_morning_table(f"Decisions, {percent}", _MORNINGS, plain, are_bars_alike=True))
    out.print(_morning_table(f"Wins beside guardrails, {percent}", _GUARDED_MORNINGS, beside))


def missed(rates: "Sequence[DecisionRates]") -> list[str]:
    """Return a sentence if a bar is missed."""
    found = [f"{_label(one)}, {one.case.method}: {', '.join(one.missed)}" for one in rates if one.missed]
    return [f"bars of decisions missed beyond chance: {'; '.join(found)}"] if found else []


def _guardrails(rates: "DecisionRates") -> str:
    return f"{rates.case.guardrails} guardrail{'' if rates.case.guardrails == 1 else 's'}"


def _full_label(rates: "DecisionRates") -> str:
    case, label = rates.case, _label(rates)
    if case.values is None:
        label = f"{'retained' if case.known_after else 'converted'}, {label}"
    if case.guardrail is None:
        return label
    return f"{label}, {_guardrails(rates)}{' to be shown' if case.non_inferior else ''}"


def _label(rates: "DecisionRates") -> str:
    case = rates.case
    return f"{case.name}, {case.split}, {case.plan_label}"


def _table(rates: "Sequence[DecisionRates]", runs: int) -> "Table":
    from engine.calibration.decisions.decision_rates import BARS

    title = f"Decisions: percent of tests, {runs:,} runs each (revenue {runs // 4:,})"
    table = figures_table(title, ("case", "method"), [heading for heading, _ in _COLUMNS])
    table.add_row("bar", "", *(_limit(BARS.get(name)) for _, name in _COLUMNS))
    table.add_section()
    for one in rates:
        if not one.case.secondary and one.case.guardrail is None:
            cells = [_cell(one, name) for _, name in _COLUMNS]
            table.add_row(_label(one), one.case.method, *cells)
    return table


def _morning_table(
    title: str,
    columns: "Sequence[tuple[str, str]]",
    rates: "Sequence[DecisionRates]",
    *,
    are_bars_alike: bool = False,
) -> "Table":
    table = figures_table(title, ("case",), ["runs", *(heading for heading, _ in columns)])
    if are_bars_alike and rates:
        table.add_row("bar", "", *(_limit(rates[0].bar(name)) for _, name in columns))
        table.add_section()
    for one in rates:
        cells = [_cell(one, name, with_error=True, with_bar=not are_bars_alike) for _, name in columns]
        table.add_row(_full_label(one), f"{one.runs:,}", *cells)
    return table


def _limit(bar: "Bar | None") -> str:
    return "" if bar is None else f"{'≥' if bar.is_least else '≤'}{bar.limit * 100:g}"


def _cell(rates: "DecisionRates", name: str, *, with_error: bool = False, with_bar: bool = False) -> "Text":
    from rich.text import Text

    figure = rates.figures.get(name)
    if figure is None:
        return Text("")
    text = f"{figure.value * 100:.1f}"
    if with_error:
        text += f" ± {figure.error * 100:.1f}"
    if with_bar:
        text += f" {_limit(rates.bar(name))}"
    return Text(text, style="red" if name in rates.missed else "")


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
        f"{_guardrails(rates)} {rule} ({_label(rates)}): a"
        f" variant with the planned effect ships in {found['shipped without harm']} of tests without"
        f" harm, and in {found['harm shipped']} where it harms one by its margin and the planned effect"
        f" ({found['harm shipped at 3x']} at three times the effect). At the margin"
        f" {found['shipped at the margin']} ship."
    )


def _ramped(rates: "DecisionRates") -> str:
    from engine.calibration.decisions.decision_rates import EXPOSED
    from engine.calibration.decisions.scenarios import DAYS_UNTIL_HARM, EXPOSED_UNTIL_HARM

    found = {name: figure.value for name, figure in rates.figures.items()}
    days, visitors = (
        (found[name], found[f"{name}, at once"]) for name in (DAYS_UNTIL_HARM, EXPOSED_UNTIL_HARM)
    )
    return (
        f"Harm of twice the margin ({_label(rates)}) is found after {days[0]:.0f} days and {visitors[0]:,.0f}"
        f" visitors, {found[EXPOSED]:.2f} times those of all traffic at once, which finds it after"
        f" {days[1]:.0f} days."
    )


def save(rates: "Sequence[DecisionRates]", folder: Path) -> None:
    """Write decisions.csv into a folder."""
    save_records([record for one in rates for record in records_of(one)], folder / "decisions.csv")
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
