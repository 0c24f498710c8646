"""What a comparison is of, where the weights of the variants changed on the way."""

from engine.analysis.evidence import Evidence
from engine.analysis.figures import share
from engine.analysis.pairs import compared_share
from engine.analysis.result import Estimand, WeightEpochResult
from engine.design.experiment import Experiment


def estimand_of(experiment: Experiment, evidence: Evidence) -> Estimand | None:
    """Say what is estimated; None where weights never changed."""
    epochs = evidence.epochs
    if epochs is None:
        return None
    ids = [variant.id for variant in experiment.variants]
    compared = compared_share(experiment, evidence)
    left_out = "" if compared is None or compared == 1.0 else f" {share(compared)} of them are compared."
    description = (
        f"Weights changed {len(epochs) - 1:,} times, so visitors are compared with those who came under the"
        " same weights, and these comparisons are averaged by how many visitors came. Improvements, intervals"
        " and scores are of the mean had every visitor of the epochs compared seen the variant; rates are of"
        f" the visitors who did.{left_out}{_unused(experiment)}"
    )
    return Estimand(
        description=description.replace("changed 1 times", "changed once"),
        compared_share=compared,
        epochs=tuple(
            WeightEpochResult(
                started_at=started_at,
                weights=dict(zip(ids, weights, strict=True)),
                visitors=dict(zip(ids, visitors, strict=True)),
            )
            for started_at, weights, visitors in zip(
                epochs.started_at, epochs.weights.tolist(), epochs.visitors.tolist(), strict=True
            )
        ),
    )


def _unused(experiment: Experiment) -> str:
    """Say which settings apply to all visitors together only."""
    settings = [goal.tracking for goal in experiment.goals]
    unused = {
        "what visitors did before": experiment.statistics.looks_back,
        "caps": any(one.get("cap_percentile") is not None for one in settings),
        "orders as the unit": any(one.get("per") == "order" for one in settings),
    }
    named = ", ".join(name for name, is_set in unused.items() if is_set)
    return f" Not known by epoch, and so not used: {named}." if named else ""
