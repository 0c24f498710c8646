"""Recent changes of experiments: by the audit trail, and by what their data have said."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from engine.analysis.results.kept_verdict import ChangeKind, ExperimentChange
from pipeline.store.catalog.audit import AuditEntry
from pipeline.store.catalog.experiment_listings import ListedVerdict

# Fields that follow from the change of another one.
_FOLLOWING: Final = frozenset(
    {"updated_at", "started_at", "completed_at", "pauses", "weight_epochs", "conclusion", "salt"}
)


def recent_changes(
    found: Iterable[ListedVerdict],
    entries: Iterable[AuditEntry],
    names: Mapping[str, str],
    *,
    since: datetime,
) -> Mapping[str, Sequence[ExperimentChange]]:
    """List the changes since a time by experiment, newest first; `names` are those of API keys by id."""
    changes: dict[str, list[ExperimentChange]] = defaultdict(list)
    # A past that was written just now is no news.
    for entry in (one for one in entries if one.happened_at >= min(since, one.at)):
        changes[entry.subject_id] += _changes_in(entry, names.get(entry.actor, entry.actor))
    for one in found:
        told = one.kept.changes if one.kept else ()
        changes[one.experiment.id] += [change for change in told if change.at >= since]
    return {key: sorted(each, key=lambda one: one.at, reverse=True) for key, each in changes.items()}


def _changes_in(entry: AuditEntry, actor: str) -> Iterator[ExperimentChange]:
    """Yield what a write has changed: the status alone where that did."""
    changed = {field: both for field, both in entry.changes.items() if field not in _FOLLOWING}
    if "status" in changed:
        before, after = changed["status"]
        yield _change(entry, "status", before, after, actor)
        return
    if "variants" in changed and (weights := _weights(*changed["variants"])):
        yield _change(entry, "weights", *weights, actor)
        del changed["variants"]
    if changed and all(isinstance(both, list) for both in changed.values()):
        yield _change(entry, "settings", None, ", ".join(sorted(changed)), actor)


def _change(
    entry: AuditEntry, kind: ChangeKind, before: str | None, after: str | None, actor: str
) -> ExperimentChange:
    return ExperimentChange(at=entry.happened_at, kind=kind, before=before, after=after, actor=actor)


def _weights(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> tuple[str, str] | None:
    """Return the weights before and after, such as `80 : 20`; None where anything else differs, too."""
    if not before or not after:
        return None
    without = [[{**one, "weight": 0} for one in each] for each in (before, after)]
    if without[0] != without[1]:
        return None
    was, now = (" : ".join(f"{one['weight']:g}" for one in each) for each in (before, after))
    return was, now
