"""Page of a decision: the recommendation, on what it rests, and the risks."""

import re
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from api.dashboard.decision_content import KEEP, decision_content
from engine.analysis.analyze import analyze
from pipeline.clock import utc_now
from tests.api.customers import Customer
from tests.api.dashboard.conftest import SignIn
from tests.api.dashboard.listed_shop import BROKEN, ROLLBACK, SAME, SHIP, UNCLEAR, Counts
from tests.api.dashboard.test_experiments import send_visitors
from tests.builders import an_experiment
from tests.observations import observed


def asked(counts: Counts, *, is_finished: bool) -> Any:
    """Results of those counts, as a page asks for them."""
    now = utc_now()
    experiment = an_experiment(started_at=now - timedelta(days=10))
    evidence = replace(observed(list(counts[0]), list(counts[1])), as_of=now)
    report = analyze(experiment, evidence, now=now, is_finished=is_finished)
    return SimpleNamespace(
        report=lambda: report, project=SimpleNamespace(timezone="UTC"), experiment=experiment
    )


@pytest.mark.parametrize(
    ("counts", "is_finished", "recommended"),
    [(SHIP, True, "var_1"), (ROLLBACK, True, KEEP), (SAME, True, KEEP), (UNCLEAR, False, None)],
)
def test_the_choice_that_fits_the_verdict_is_recommended(
    counts: Counts, recommended: str | None, *, is_finished: bool
) -> None:
    content = decision_content(asked(counts, is_finished=is_finished))
    assert content.recommended == recommended
    assert content.rows["var_1"].bar is not None
    assert [fact.label for fact in content.facts][-3:] == ["Safe to stop", "Visitors", "By chance alone"]
    assert content.risks == {}
    assert content.passed > 0


def test_an_alarm_is_a_risk_and_no_choice_is_recommended() -> None:
    content = decision_content(asked(BROKEN, is_finished=False))
    assert content.recommended is None
    assert list(content.risks) == ["sample_ratio"]


def test_the_page_names_the_audience_the_facts_the_checks_and_the_variant_in_the_button(
    customer: Customer, experiment: str, browser: TestClient
) -> None:
    send_visitors(customer, experiment, {0: (300, 60), 1: (300, 66)})
    page = browser.get(f"{experiment}/ship").text
    assert "Decide about “Checkout button”</h1>" in page
    assert re.search(r"ship it · \+10\.0% Purchase, \S+ to \S+ at 95%", page)
    facts = dict(re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)", page))
    assert facts["Owner"] == "not assigned"
    assert facts["For"] == "all visitors of shop.example"
    assert (facts["Goal"], facts["Safe to stop"], facts["Visitors"]) == ("Purchase", "No", "600")
    assert re.fullmatch(r"\d+ passed(, \d+ with a caveat)?", facts["Checks of the data"])
    assert "No open risk" in page
    buttons = re.findall(r"<span>([^<]+)</span>", page.partition('class="none"')[2])
    assert buttons == ["Ship “Treatment”", "End, keep “Control”", "End undecided"]
    assert "style=" not in page


def test_without_results_the_form_stands_alone(customer: Customer, experiment: str, sign_in: SignIn) -> None:
    page = sign_in(customer.with_key("experiments:read").token).get(f"{experiment}/ship").text
    assert "<h1>Decide about “" in page
    assert 'id="rests"' not in page
    assert not re.findall(r'name="choice"[^>]* checked', page)
