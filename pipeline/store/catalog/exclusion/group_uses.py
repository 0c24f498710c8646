"""Uses of a project's groups: the experiments that have slots, in the transaction of a caller."""

from collections.abc import Iterator

from sqlalchemy import Connection, Text, cast, select

from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.exclusion.slot_taking import GroupUse, needs_slots, slots_of, with_slots
from engine.design.experiment import Experiment
from engine.design.holdout import ACTIVE
from pipeline.store.catalog.schema import exclusion_groups, experiments
from pipeline.store.documents import value_from

# As text, so that a document that was read before is not decoded again.
GROUP_DOCUMENT = select(cast(exclusion_groups.c.document, Text).label("document"))


def group_in(connection: Connection, project_id: str, group_id: str) -> ExclusionGroup | None:
    """Return a group of a project; None where it has none of that id."""
    query = GROUP_DOCUMENT.where(
        exclusion_groups.c.project_id == project_id, exclusion_groups.c.id == group_id
    )
    text: str | None = connection.scalar(query)
    return None if text is None else value_from(text, ExclusionGroup)


def use_of(connection: Connection, group: ExclusionGroup) -> GroupUse:
    """Return a group with the experiments that have slots of it, oldest first."""
    holders = holders_in(connection, group.project_id, group.id)
    return GroupUse(group, [one for one in holders if one.group is not None and one.group.id == group.id])


def holders_in(connection: Connection, project_id: str, text: str) -> Iterator[Experiment]:
    """Yield the experiments of a project that have slots and hold a text in their document, oldest first."""
    return (one for one in members_in(connection, project_id, text) if slots_of(one))


def active_holdouts_of(connection: Connection, group: ExclusionGroup) -> Iterator[Experiment]:
    """Yield the holdouts of a group that are scheduled or in force."""
    for one in members_in(connection, group.project_id, group.id):
        if one.held_group_id == group.id and one.status in ACTIVE:
            yield one


def members_in(connection: Connection, project_id: str, text: str) -> Iterator[Experiment]:
    """Yield the experiments of a project that hold a text in their document, oldest first."""
    query = select(cast(experiments.c.document, Text)).where(
        experiments.c.project_id == project_id,
        cast(experiments.c.document, Text).contains(text, autoescape=True),
    )
    for document in connection.scalars(query.order_by(experiments.c.created_at, experiments.c.id)):
        yield value_from(document, Experiment)


def given_slots(connection: Connection, experiment: Experiment) -> Experiment:
    """Give an experiment of a locked project the slots that it needs, if any; TransitionError."""
    if experiment.group is None or not needs_slots(experiment):
        return experiment
    group = group_in(connection, experiment.project_id, experiment.group.id)
    return with_slots(experiment, None if group is None else use_of(connection, group))
