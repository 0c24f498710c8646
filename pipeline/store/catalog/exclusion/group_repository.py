"""Repository of exclusion groups, with what experiments have of each."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from engine.design.exclusion.exclusion_group import ExclusionGroup
from engine.design.exclusion.group_slots import are_together
from engine.design.exclusion.slot_taking import GroupUse
from engine.design.experiment import Experiment
from engine.errors import InvalidDesignError, Problem
from engine.validation.values import shown
from pipeline.store.catalog.audit import changes_between, record
from pipeline.store.catalog.database import Database
from pipeline.store.catalog.errors import GroupInUseError, NotFoundError
from pipeline.store.catalog.exclusion.group_uses import (
    GROUP_DOCUMENT,
    active_holdouts_of,
    group_in,
    holders_in,
    members_in,
    use_of,
)
from pipeline.store.catalog.project_lock import lock_project
from pipeline.store.catalog.schema import exclusion_groups
from pipeline.store.documents import document_of, value_from

MOST_GROUPS: Final = 100


class ExclusionGroups:
    """Repository of exclusion groups; they are deleted with their project."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, group: ExclusionGroup, *, actor: str) -> GroupUse:
        """Save a new group; NotFoundError for an unknown project.

        InvalidDesignError where its name is taken, or the project has as many groups as it may.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, group.project_id)
            others = _groups_in(connection, group.project_id)
            if len(others) >= MOST_GROUPS:
                message = f"the project has {MOST_GROUPS} groups, the most that are possible; delete some"
                raise InvalidDesignError([Problem("body", message)])
            _require_own_name(group, others)
            document = document_of(group)
            connection.execute(exclusion_groups.insert().values(_row_of(group, document)))
            record(connection, account_id, actor, group.id, changes_between({}, document))
        return GroupUse(group, [])

    def find(self, project_id: str, group_id: str) -> GroupUse:
        """Return a group of a project, with its use; NotFoundError."""
        with self._database.read() as connection:
            return use_of(connection, _require_group(connection, project_id, group_id))

    def of_experiment(self, experiment: Experiment) -> GroupUse | None:
        """Return the group that an experiment asks for, with its use; None without one that exists."""
        if experiment.group is None:
            return None
        with self._database.read() as connection:
            group = group_in(connection, experiment.project_id, experiment.group.id)
            return None if group is None else use_of(connection, group)

    def of_project(self, project_id: str) -> list[GroupUse]:
        """List the groups of a project with their use, oldest first."""
        with self._database.read() as connection:
            groups = _groups_in(connection, project_id)
            # The id of a group begins so; the text may stand elsewhere, too.
            holders = list(holders_in(connection, project_id, '"grp_')) if groups else []
        return [
            GroupUse(group, [one for one in holders if one.group is not None and one.group.id == group.id])
            for group in groups
        ]

    def ids(self, project_id: str) -> set[str]:
        """Return the ids of the groups of a project."""
        query = select(exclusion_groups.c.id).where(exclusion_groups.c.project_id == project_id)
        with self._database.read() as connection:
            return set(connection.scalars(query))

    def together_with(self, experiment: Experiment) -> list[str]:
        """List the ids of the other experiments that had slots of its group at the same time."""
        own, share = experiment.group_slots, experiment.group
        if own is None or share is None:
            return []
        with self._database.read() as connection:
            found = list(members_in(connection, experiment.project_id, share.id))
        return [
            one.id
            for one in found
            if one.id != experiment.id
            and one.group_slots is not None
            and one.group is not None
            and one.group.id == share.id
            and are_together(own, one.group_slots)
        ]

    def change(
        self,
        project_id: str,
        group_id: str,
        decide: Callable[[ExclusionGroup], ExclusionGroup],
        *,
        actor: str,
    ) -> GroupUse:
        """Load a group, change it by `decide`, save and audit it, in one transaction; NotFoundError.

        InvalidDesignError where its name is taken. What experiments have of it stays.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            before = _require_group(connection, project_id, group_id)
            after = decide(before)
            _require_own_name(after, _groups_in(connection, project_id))
            documents = document_of(before), document_of(after)
            is_this = exclusion_groups.c.id == group_id
            connection.execute(exclusion_groups.update().where(is_this).values(_row_of(after, documents[1])))
            record(connection, account_id, actor, group_id, changes_between(*documents))
            return use_of(connection, after)

    def delete(self, project_id: str, group_id: str, *, actor: str) -> None:
        """Delete a group and audit that; NotFoundError, GroupInUseError where it is in use.

        It is while an experiment has slots of it, or a holdout that is scheduled or in force names it.
        """
        with self._database.write() as connection:
            account_id = lock_project(connection, project_id)
            group = _require_group(connection, project_id, group_id)
            if holders := use_of(connection, group).holders:
                raise GroupInUseError(group.name, [one.name for one in holders])
            if holdouts := list(active_holdouts_of(connection, group)):
                raise GroupInUseError(group.name, [one.name for one in holdouts], are_holdouts=True)
            connection.execute(exclusion_groups.delete().where(exclusion_groups.c.id == group_id))
            record(connection, account_id, actor, group_id, changes_between(document_of(group), {}))


def _groups_in(connection: Connection, project_id: str) -> list[ExclusionGroup]:
    query = GROUP_DOCUMENT.where(exclusion_groups.c.project_id == project_id)
    texts = connection.scalars(query.order_by(exclusion_groups.c.created_at, exclusion_groups.c.id))
    return [value_from(text, ExclusionGroup) for text in texts]


def _require_group(connection: Connection, project_id: str, group_id: str) -> ExclusionGroup:
    group = group_in(connection, project_id, group_id)
    if group is None:
        raise NotFoundError("group", group_id)
    return group


def _require_own_name(group: ExclusionGroup, others: Sequence[ExclusionGroup]) -> None:
    if any(other.name == group.name and other.id != group.id for other in others):
        message = f"{shown(group.name)} is another group's of this project; choose another"
        raise InvalidDesignError([Problem("name", message)])


def _row_of(group: ExclusionGroup, document: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": group.id,
        "project_id": group.project_id,
        "name": group.name,
        "document": document,
        "created_at": group.created_at,
        "updated_at": group.updated_at,
    }
