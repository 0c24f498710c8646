"""Facts that reviews depend on: the project's rule, the account's members, and the last change's member."""

from sqlalchemy import Connection, select

from engine.design.project import Project
from engine.design.review import ReviewFacts
from engine.design.reviewing import OF_ITS_LIFE
from pipeline.store.catalog.schema import api_keys, audit, members, projects
from pipeline.store.documents import value_of


def review_facts(connection: Connection, account_id: str, project_id: str, experiment_id: str) -> ReviewFacts:
    """Read what reviews of an experiment depend on, in the caller's transaction."""
    document = connection.scalar(select(projects.c.document).where(projects.c.id == project_id))
    accepted = select(members.c.id).where(
        members.c.account_id == account_id, members.c.accepted_at.is_not(None)
    )
    return ReviewFacts(
        is_required=value_of(document, Project).requires_review,
        member_ids=frozenset(connection.scalars(accepted)),
        changed_by=_last_changed_by(connection, experiment_id),
    )


def _last_changed_by(connection: Connection, experiment_id: str) -> str | None:
    """Return the member of the last change but for steps of the life; None where none is known."""
    query = (
        select(audit.c.actor, audit.c.changes)
        .where(audit.c.subject_id == experiment_id)
        .order_by(audit.c.at.desc(), audit.c.id.desc())
    )
    # A start takes the first step of a ramp, too; only a creation has both an id and a status.
    actor = next(
        (
            actor
            for actor, changes in connection.execute(query)
            if not changes.keys() <= {*OF_ITS_LIFE} and ("status" not in changes or "id" in changes)
        ),
        None,
    )
    member_id: str | None = connection.scalar(select(api_keys.c.member_id).where(api_keys.c.id == actor))
    return member_id
