"""Amounts of goals in several currencies: equal to the minor unit wherever they are told."""

import pytest

from engine.analysis.results.formatting import exact_money, money
from engine.charts.report import chart_rates
from engine.display.report_document import goal_table
from engine.frames.analyze import analyze_frame
from pipeline.snapshots.reader import open_snapshot
from tests.builders import NOW, a_goal
from tests.pipeline.working_store import WorkingStore, a_purchase, an_exposure

# Cents of an order by currency: 1,234 yen, 12.34 euros and dollars, 1.234 dinars.
MINOR_UNITS = 1234
SHOWN = {"JPY": "1,234 JPY", "EUR": "12.34 EUR", "USD": "12.34 USD", "KWD": "1.234 KWD"}
CURRENCIES = list(SHOWN)
VISITORS = 80


def test_amounts_are_the_same_wherever_they_are_told(store: WorkingStore) -> None:
    project = store.add_project()
    goals = tuple(
        a_goal(
            id=f"goal_{place}",
            name=f"Orders in {currency}",
            goal_type="revenue",
            is_primary=place == 0,
            # That of the last goal is the project's.
            config={"event_name": f"order {currency}"}
            | ({} if currency == "USD" else {"currency": currency}),
        )
        for place, currency in enumerate(CURRENCIES)
    )
    experiment = store.add_experiment(project, goals=goals)
    rows = [an_exposure(experiment, number % 2, f"v{number}") for number in range(VISITORS)]
    rows += [
        a_purchase(
            f"v{number}",
            cents=MINOR_UNITS,
            event_name=f"order {currency}",
            currency=None if currency == "USD" else currency,
        )
        for number in range(VISITORS)
        for currency in CURRENCIES
    ]
    store.write(project, *rows)
    report = store.results.report(experiment, project, now=NOW)
    store.snapshots.write(project.id)
    snapshot = open_snapshot(store.snapshots.folder / project.id)
    notebook = analyze_frame(snapshot.visitors(experiment.id), **snapshot.analysis(experiment.id))

    assert [one.goal.name for one in notebook.goals] == [one.goal.name for one in report.goals]
    for currency, served, read in zip(CURRENCIES, report.goals, notebook.goals, strict=True):
        for whole, goal in ((report, served), (notebook, read)):
            assert [one.revenue.value for one in goal.variants] == [MINOR_UNITS] * 2
            assert [one.metric.currency for one in goal.variants] == [currency] * 2
            assert (goal.summary.currency, goal.decision.revenue_currency) == (currency, currency)
            assert [row[3] for row in goal_table(goal, whole).rows] == [SHOWN[currency]] * 2
            told = goal.decision.headline + goal.decision.explanation
            assert {other for other in CURRENCIES if other in told.replace(goal.goal.name, "")} <= {currency}
        chart = chart_rates(report, served.goal.id).to_dict()
        assert chart["title"].endswith(f"revenue per visitor so far, {currency}")
        units = {"JPY": 1, "KWD": 1000}.get(currency, 100)
        drawn = [row["value"] * units for row in chart["data"]["values"]]
        assert drawn == pytest.approx([MINOR_UNITS] * len(drawn))
        assert len(drawn) >= 2


def test_a_sentence_rounds_what_is_large_and_a_table_does_not() -> None:
    assert (money(1234567, "EUR"), exact_money(1234567, "EUR")) == ("12,346 EUR", "12,345.67 EUR")
    assert (money(999, "JPY"), exact_money(-5, "KWD")) == ("999 JPY", "\N{MINUS SIGN}0.005 KWD")
