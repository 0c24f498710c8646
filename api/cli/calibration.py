"""Command `calibrate`: error rates of methods, of decisions and of measures, by simulation."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from api.cli import measure_calibration
from api.cli.console import CommandError, err, figures_table, out, print_json, progress, save_records, writing
from api.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from engine.calibration.decisions.decision_rates import DecisionRates
    from engine.calibration.error_rates import ErrorRates, SimulatedFigure
    from engine.calibration.measure_errors.error_sides import MeasureErrors

RUNS = 2_000
QUICK_RUNS = 200


def calibrate(  # the options of a command
    runs: Annotated[
        int | None,
        typer.Option(
            min=100,
            help="Simulated experiments per setting, and as many without an effect."
            f" By default {RUNS:,}, and {measure_calibration.RUNS:,} of measures.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"Use {QUICK_RUNS} runs: takes seconds, and is less precise.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")] = 1,
    out_dir: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Folder for calibration.csv, calibration.html, decisions.csv and measures.csv."
        ),
    ] = None,
    only: Annotated[
        Literal["methods", "decisions", "measures"] | None,
        typer.Option(help="One table. That of measures takes minutes, and is left out without this option."),
    ] = None,
    all_cases: Annotated[
        bool, typer.Option("--all-cases", help="Decisions in every case that the bars are for: takes hours.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate experiments with known effects: error rates of methods, decisions and measures."""
    from api.cli import decision_calibration

    if all_cases and only in {"methods", "measures"}:
        raise typer.BadParameter(f"--all-cases is of decisions: leave out --only {only}")
    if out_dir is not None:
        _check_output(out_dir)
    usual = measure_calibration.RUNS if only == "measures" else RUNS
    count = QUICK_RUNS if quick else runs or usual
    methods = _simulate_methods(count, seed) if only in {None, "methods"} else []
    decisions: list[DecisionRates] = []
    measures: list[MeasureErrors] = []
    if only in {None, "decisions"}:
        decisions = decision_calibration.simulate(count, seed, all_cases=all_cases)
    if only == "measures":
        measures = measure_calibration.simulate(count, seed)
        decisions = decision_calibration.simulate_measures(count, seed)
    if as_json:
        _print_json(methods, decisions, measures)
    else:
        _print_tables(methods, decisions, measures, count)
    if out_dir is not None and methods:
        _save(methods, out_dir)
    if out_dir is not None and decisions:
        decision_calibration.save(decisions, out_dir)
    if out_dir is not None and measures:
        measure_calibration.save(measures, out_dir)
    if problems := [
        *_broken(methods),
        *decision_calibration.missed(decisions),
        *measure_calibration.missed(measures),
    ]:
        raise CommandError("; ".join(problems))


def _print_json(
    methods: "Sequence[ErrorRates]", decisions: "Sequence[DecisionRates]", measures: "Sequence[MeasureErrors]"
) -> None:
    from api.cli import decision_calibration

    print_json(
        {
            "methods": [_record(score) for score in methods],
            "decisions": [record for one in decisions for record in decision_calibration.records_of(one)],
            "measures": [measure_calibration.record_of(one) for one in measures],
        }
    )


def _print_tables(
    methods: "Sequence[ErrorRates]",
    decisions: "Sequence[DecisionRates]",
    measures: "Sequence[MeasureErrors]",
    runs: int,
) -> None:
    from api.cli import decision_calibration

    if methods:
        out.print(_table(methods))
    if measures:
        measure_calibration.print_table(measures)
        decision_calibration.print_mornings(decisions)
    elif decisions:
        decision_calibration.print_table(decisions, runs)


def _simulate_methods(runs: int, seed: int) -> "list[ErrorRates]":
    from engine.calibration.error_rates import DEFAULT_SETTINGS, calibrate
    from engine.calibration.methods import METHODS

    scores: list[ErrorRates] = []
    with progress() as bar:
        task = bar.add_task("Settings", total=len(DEFAULT_SETTINGS))
        for setting_scores in calibrate(DEFAULT_SETTINGS, METHODS, runs=runs, seed=seed):
            scores.extend(setting_scores)
            bar.update(task, advance=1)
    return scores


def _broken(scores: "Sequence[ErrorRates]") -> list[str]:
    """Return a sentence if a method breaks its promise."""
    broken = [score for score in scores if score.method.is_safe and not score.keeps_promise]
    if not broken:
        return []
    listed = "; ".join(f"{score.method.name} ({score.setting.name})" for score in broken)
    return [f"more false positives than promised, or less coverage, beyond chance: {listed}"]


def _check_output(folder: Path) -> None:
    """Fail at once, not after the simulation, without the chart library, or a folder to write into."""
    from engine.charts.altair_module import load_altair

    load_altair()
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def _table(scores: "Sequence[ErrorRates]") -> "Table":
    title = f"Percent, {scores[0].runs:,} runs each; ± is the simulation's own standard error"
    figures = ("false\npositives", "promised", "coverage", "promised", "power", "bias")
    table = figures_table(title, ("setting", "method"), figures)
    setting = None
    for score in scores:
        if setting not in {None, score.setting}:
            table.add_section()
        table.add_row(
            score.setting.name if score.setting != setting else "",
            score.method.name,
            _percent(score.false_positives),
            f"{score.method.error_rate * 100:g}",
            _percent(score.coverage),
            _promised(score),
            _percent(score.power),
            _percent(score.bias, signed=True),
            style="" if score.keeps_promise else "red",
        )
        setting = score.setting
    return table


def _save(scores: "Sequence[ErrorRates]", folder: Path) -> None:
    from engine.calibration.chart import chart_error_rates

    save_records([_record(score) for score in scores], folder / "calibration.csv")
    with writing(folder / "calibration.html"):
        chart_error_rates(scores).save(str(folder / "calibration.html"))
    err.print(f"Saved calibration.csv and calibration.html in {folder}.", highlight=False)


def _record(score: "ErrorRates") -> dict[str, object]:
    """Describe a score as a row: shares, and None where there is no figure."""
    setting = score.setting
    record: dict[str, object] = {
        "metric": setting.metric,
        "rate": setting.rate,
        "arms": setting.arms,
        "visitors_per_arm": setting.visitors,
        "true_lift": score.lift,
        "method": score.method.name,
        "runs": score.runs,
        "false_positives_promised": score.method.error_rate,
        "coverage_promised": _covers(score),
    }
    for name in ("false_positives", "coverage", "power", "bias"):
        figure: SimulatedFigure | None = getattr(score, name)
        record[name] = figure.value if figure else None
        record[f"{name}_error"] = figure.error if figure else None
    return record | {"setting": setting.name}


def _covers(score: "ErrorRates") -> float | None:
    return score.method.promised_coverage(score.setting.arms - 1)


def _promised(score: "ErrorRates") -> str:
    """Format the promised coverage in percent; empty without intervals or without a promise."""
    covers = _covers(score)
    return "" if covers is None or score.coverage is None else f"{covers * 100:.1f}"


def _percent(figure: "SimulatedFigure | None", *, signed: bool = False) -> str:
    if figure is None:
        return ""
    value = f"{figure.value * 100:+.1f}" if signed else f"{figure.value * 100:.1f}"
    return f"{value} ± {figure.error * 100:.1f}"
