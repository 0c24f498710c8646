"""Document of a report."""

from dataclasses import replace

import numpy as np

from engine.analysis.analyze import analyze
from engine.analysis.evidence.funnels import FunnelEvidence
from engine.design.conclusion import Conclusion
from engine.display.report_document import goal_table, verdict_card
from tests.builders import NOW, an_experiment
from tests.observations import observed


def test_the_table_of_a_funnel_lists_the_visitors_at_each_step() -> None:
    experiment, plain = an_experiment(status="completed"), observed([5_000, 5_100], [500, 700])
    report = analyze(experiment, plain, now=NOW)
    assert goal_table(report.goals[0], report).notes == ()

    funnel = FunnelEvidence(("cart", "paid"), np.array([[900, 1_100], [500, 700]]))
    report = analyze(experiment, replace(plain, funnels={0: funnel}), now=NOW)
    assert goal_table(report.goals[0], report).notes == (
        "Control: 5,000 visitors → cart 900 → paid 500",
        "Treatment 1: 5,100 visitors → cart 1,100 → paid 700",
    )


def test_the_verdict_says_what_was_decided_and_why() -> None:
    conclusion = Conclusion(
        decision="ship",
        variant_id="var_1",
        note="More orders.",
        decided_at=NOW,
        decided_by="mem_1",
        decided_by_name="Ada",
    )
    said = "Decided on 2 Mar 2026 by Ada: Shipped 'Treatment 1'. More orders."
    for decided in (None, conclusion):
        experiment = an_experiment(status="completed", conclusion=decided)
        card = verdict_card(analyze(experiment, observed([5_000, 5_100], [500, 700]), now=NOW))
        assert card is not None
        assert (said in card.sentences) == (decided is not None)
