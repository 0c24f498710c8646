"""Errors of the catalog."""

from collections.abc import Iterable, Sequence
from typing import Final

from engine.errors import Problem
from engine.validation.values import shown

# Experiments that a message names.
_NAMED: Final = 5
# A run takes some seconds.
QUEUE_RETRY_SECONDS: Final = 10


class CatalogError(Exception):
    """Base of every error of the catalog."""


class NotFoundError(CatalogError):
    """The object does not exist, or the caller has no access to it."""

    def __init__(self, kind: str, object_id: str) -> None:
        """Name the kind (`project`, `experiment`, …) and the id that was asked for."""
        self.kind = kind
        self.object_id = object_id
        super().__init__(f"there is no {kind} {shown(object_id)}")


class InvalidRecordError(CatalogError):
    """An invalid record, with every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Keep the problems in the order they were found; there is at least one."""
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.field}: {problem.message}" for problem in self.problems))


class LastOwnerError(CatalogError):
    """The only accepted owner of an account, which can neither be removed nor lose the role."""

    def __init__(self, email_address: str) -> None:
        """Name the owner by address."""
        super().__init__(f"{email_address} is the only owner of this account; add another owner first")


class RoleTooLowError(CatalogError):
    """A member that may not manage members, or not one of a higher role."""


class PlanLimitError(CatalogError):
    """The account has as many projects as its plan allows."""

    def __init__(self, plan_name: str, max_projects: int) -> None:
        """Name the plan and the allowance that is used up."""
        self.plan_name = plan_name
        self.max_projects = max_projects
        super().__init__(
            f"the {plan_name} plan's allowance of {max_projects} is used up; "
            "delete a project or move to a larger plan"
        )


class MetricInUseError(CatalogError):
    """Experiments that have not started use the metric."""

    def __init__(self, name: str, users: Sequence[str]) -> None:
        """Name the metric and the experiments; there is at least one."""
        super().__init__(
            f"{shown(name)} is used by experiments that have not started ({_named(users)}); "
            "send null as the metric_id of their goals, or remove the goals, first"
        )


def _named(experiments: Sequence[str]) -> str:
    more = f" and {len(experiments) - _NAMED:,} more" if len(experiments) > _NAMED else ""
    return ", ".join(map(shown, experiments[:_NAMED])) + more


class GroupInUseError(CatalogError):
    """Experiments or rollouts have slots of the group, or holdouts hold visitors out of it."""

    def __init__(self, name: str, holders: Sequence[str], *, are_holdouts: bool = False) -> None:
        """Name the group and the experiments, or the holdouts; there is at least one."""
        super().__init__(
            f"{shown(name)} has a holdout that is scheduled or in force ({_named(holders)}); end it first"
            if are_holdouts
            else f"{shown(name)} has slots that experiments have taken ({_named(holders)}); "
            "end them, or their rollouts, first"
        )


class SharingForbiddenError(CatalogError):
    """The project allows no share links."""

    def __init__(self) -> None:
        """Say who can allow them."""
        super().__init__(
            "this project allows no share links; a key with projects:write allows them by its setting "
            "share_links"
        )


class QueueFullError(CatalogError):
    """A project or an account has as many queued runs as it may have."""

    def __init__(self, of: str, most: int) -> None:
        """Say whose runs wait, such as `project`, and the number at which a further one is refused."""
        self.retry_after = QUEUE_RETRY_SECONDS
        super().__init__(f"{most} runs of this {of} wait already; start another once some have ended")


class TooManyTestsError(CatalogError):
    """The channels of a project have sent as many tests as they may within an hour."""

    def __init__(self, most: int, retry_after: int) -> None:
        """Give the number of tests, and the seconds until the next one may be sent."""
        self.retry_after = retry_after
        super().__init__(
            f"the channels of this project have sent {most} tests within an hour; wait for a while"
        )


class CatalogBusyError(CatalogError):
    """The catalog was locked or unavailable for too long; a retry may succeed."""


class RepeatError(CatalogError):
    """An idempotency key that cannot be used for this request."""


class KeyReusedError(RepeatError):
    """The key was used for a different request."""


class KeyInUseError(RepeatError):
    """The first request with the key is still being answered."""
