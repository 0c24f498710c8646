"""Estimand of an experiment whose weights changed, and its description."""

from engine.analysis.comparison.analysis_data import AnalysisData
from engine.analysis.comparison.stratified import compared_share
from engine.analysis.evidence.epochs import EpochEvidence
from engine.analysis.results.formatting import share
from engine.analysis.results.report import Estimand, WeightEpochResult
from engine.design.experiment import Experiment


def describe_estimand(data: AnalysisData) -> Estimand | None:
    """Describe what is estimated; None where weights never changed."""
    epochs = data.evidence.epochs
    if epochs is None:
        return None
    compared = compared_share(data.plan.control, data.evidence)
    left_out = "" if compared is None or compared == 1.0 else f" {share(compared)} of visitors are compared."
    description = (
        f"Weights changed {len(epochs) - 1:,} times, so variants are compared within each period of equal"
        " weights, and these comparisons are averaged by the visitors of each period. Improvements, intervals"
        " and scores estimate the mean if every visitor of the compared periods had seen the variant; rates"
        f" are of the visitors who did.{left_out}{_unused_settings(data.experiment)}"
    )
    return Estimand(
        description=description.replace("changed 1 times", "changed once"),
        compared_share=compared,
        epochs=_epoch_results(data.experiment, epochs),
    )


def _epoch_results(experiment: Experiment, epochs: EpochEvidence) -> tuple[WeightEpochResult, ...]:
    ids = [variant.id for variant in experiment.variants]
    rows = zip(epochs.started_at, epochs.weights.tolist(), epochs.visitors.tolist(), strict=True)
    return tuple(
        WeightEpochResult(
            started_at=started_at,
            weights=dict(zip(ids, weights, strict=True)),
            visitors=dict(zip(ids, visitors, strict=True)),
        )
        for started_at, weights, visitors in rows
    )


def _unused_settings(experiment: Experiment) -> str:
    """Name the settings that apply to all visitors together only."""
    settings = [goal.tracking for goal in experiment.goals]
    unused = {
        "pre-period activity": experiment.statistics.uses_pre_period,
        "caps": any(setting.get("cap_percentile") is not None for setting in settings),
        "revenue per order": any(setting.get("per") == "order" for setting in settings),
    }
    names = ", ".join(name for name, is_set in unused.items() if is_set)
    return f" Not available by period, and so not used: {names}." if names else ""
