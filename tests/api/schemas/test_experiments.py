"""Experiments in answers."""

from api.schemas.experiments import Experiment, ExperimentDetail
from engine.design.drafting import ASSIGNED_FIELDS, WRITABLE_FIELDS
from tests.builders import an_experiment


def test_an_answer_has_every_field_that_callers_write_but_the_traffic_strategy() -> None:
    assert set(WRITABLE_FIELDS) - set(ExperimentDetail.model_fields) == {"traffic_strategy"}


def test_an_answer_can_be_sent_back() -> None:
    assert set(ExperimentDetail.model_fields) <= {*WRITABLE_FIELDS, *ASSIGNED_FIELDS}


def test_an_experiment_is_described_with_its_score_and_threshold() -> None:
    listed = Experiment.of(an_experiment(confidence_level=95))
    assert (listed.score_label, listed.effective_confidence_threshold) == ("Significance (1-p)", 95.0)
    three = ExperimentDetail.of(an_experiment(weights=(1, 1, 1), confidence_level=95))
    assert three.effective_confidence_threshold == 97.5
    assert [variant.weight for variant in three.variants] == [1, 1, 1]
