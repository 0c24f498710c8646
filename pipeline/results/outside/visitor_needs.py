"""What results need the rows of visitors for, which sums from outside do not have."""

from collections.abc import Iterator

from engine.design.experiment import Experiment
from engine.design.units import is_clustered, unit_name
from engine.errors import TransitionError
from pipeline.store.warehouse.published import Published


def needs_of_visitors(experiment: Experiment) -> list[str]:
    """List, in a few words each, why the results of an experiment need more than sums; empty where not."""
    return list(_needs_of_visitors(experiment))


def require_visitors(experiment: Experiment, published: Published | None, purpose: str) -> None:
    """Raise TransitionError `needs_visitors` where sums from outside have no visitors for a purpose."""
    if published is not None and published.sums_from is not None:
        raise TransitionError(
            "needs_visitors",
            f"{purpose} needs the visitors of '{experiment.name}', and {published.sums_from} hands in their "
            "sums alone",
        )


def _needs_of_visitors(experiment: Experiment) -> Iterator[str]:
    if is_clustered(experiment.unit):
        yield f"it compares by {unit_name(experiment.unit)}, and sums are of visitors"
    if len(experiment.weight_epochs) > 1:
        yield "its weights have changed, and visitors are compared by the weights at their first exposure"
    if experiment.statistics.adjusts_by_attributes:
        yield "its covariates are attributes of visitors; adjust by pre_period alone"
