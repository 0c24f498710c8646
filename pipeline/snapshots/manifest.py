"""Manifest of a snapshot: its files and the experiments in them."""

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from engine.analysis.evidence.recorded_looks import RecordedLook
from engine.design.analysis_settings import Statistics
from engine.design.pauses import Pause
from engine.design.ramp import Ramp, TakenStep
from engine.design.weight_epochs import WeightEpoch
from engine.frames.service_record import UnitsRecord
from engine.measures.measure_table import CONFIG_MEASURES
from engine.typed_records import record_from_json
from engine.vocabulary import QuantileOf, Status
from pipeline.snapshots.files import placed
from pipeline.store.sealed_files import require_seal, seal_object

MANIFEST: Final = "manifest.json"
# Raise it when the files change their meaning: those of another version are written again.
SCHEMA_VERSION: Final = 1


class UnreadableSnapshotError(Exception):
    """There is no snapshot in a folder, or none that this version can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One Parquet file: its path within the snapshot, with slashes; a file never changes.

    Files of equal path and `content` are equal. `sha256` is the digest of its bytes, in hex; None in
    snapshots from before they contained digests.
    """

    path: str
    rows: int
    bytes: int
    content: str
    sha256: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFile(DataFile):
    """Raw events numbered from `first_seq` to `last_seq`, repeats of an event id included."""

    first_seq: int
    last_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotVariant:
    """A variant with the number of its visitors."""

    id: str
    name: str
    is_control: bool
    weight: float
    visitors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotGoal:
    """A goal; `type` and `measure` as in the API, `currency` of its revenue, `per` visitor or order.

    `minimum_effect_percent` is None where the experiment's holds, the margins where the goal is no
    guardrail. `steps` are the names of a funnel's; empty where visitors' steps were not counted.
    `known_after` so many days outcomes are known; None where they are at once, and in earlier snapshots.
    `has_orders` where visitors have the number of their orders, as of a goal that is measured per order.
    `covariates` are those of the experiment where CUPED adjusts the goal: the rows of visitors have them.
    `q` and `of` are those of a quantile.
    """

    id: str
    name: str
    type: str
    is_primary: bool
    less_is_better: bool
    currency: str
    cap_percentile: float | None = None
    per: str = "visitor"
    measure: str = "converted"
    steps: tuple[str, ...] = ()
    has_orders: bool = False
    covariates: tuple[str, ...] = ()
    minimum_effect_percent: float | None = None
    guardrail_margin_percent: float | None = None
    guardrail_margin_absolute: float | None = None
    known_after: int | None = None
    q: float | None = None
    of: QuantileOf = "visitor"

    def __post_init__(self) -> None:
        if self.measure not in CONFIG_MEASURES:
            raise ValueError(f"{self.measure!r} is no measure of this version")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotExperiment:
    """Results of an experiment: of its events numbered up to `covered_seq`, as of `as_of`.

    `several_variants` visitors were exposed to more than one variant, `identity_conflicts` are users with
    visitor ids of different variants, `bots` were flagged; none of these has a row.
    Variants and goals are those the experiment was counted by. `weight_epochs` is empty until weights
    change. `looks` are the recorded ones that judge the experiment: the one at the plan and the last of the
    others, in order; None in snapshots from before they contained looks and pauses. `units` are compared
    where it is not None, by the column `unit` of visitors.
    """

    id: str
    name: str
    status: Status
    started_at: datetime | None
    completed_at: datetime | None
    analysis_method: str
    confidence_level: int
    traffic_strategy: str = "fixed"
    weight_epochs: tuple[WeightEpoch, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)
    variants: tuple[SnapshotVariant, ...]
    goals: tuple[SnapshotGoal, ...]
    covered_seq: int
    as_of: datetime
    several_variants: int
    identity_conflicts: int = 0
    bots: int
    pauses: tuple[Pause, ...] = ()
    ramp: Ramp | None = None
    ramp_steps: tuple[TakenStep, ...] = ()
    looks: tuple[RecordedLook, ...] | None = None
    units: UnitsRecord | None = None
    visitors: DataFile
    orders: DataFile
    aggregates: DataFile

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files of the experiment."""
        return self.visitors, self.orders, self.aggregates


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """Snapshot of a project: its events numbered up to `last_seq`, and all its results, at `taken_at`.

    `retired` are paths that only the previous snapshot has; they stay until the next one, for readers of the
    previous.
    """

    project_id: str
    project_name: str
    timezone: str
    currency: str
    taken_at: datetime
    last_seq: int
    events: tuple[EventFile, ...]
    experiments: tuple[SnapshotExperiment, ...]
    retired: tuple[str, ...] = ()
    schema_version: int = SCHEMA_VERSION

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files of the snapshot."""
        return (*self.events, *(file for one in self.experiments for file in one.files))

    @property
    def paths(self) -> set[str]:
        """The paths of all files of the snapshot."""
        return {file.path for file in self.files}


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of the snapshot in `folder`; raises UnreadableSnapshotError."""
    path = folder / MANIFEST
    try:
        content = path.read_bytes()
        manifest = record_from_json(content, Manifest)
        require_seal(content)
    except FileNotFoundError:
        raise UnreadableSnapshotError(f"there is no snapshot in {folder}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise UnreadableSnapshotError(f"{path} is no manifest of a snapshot: {error}") from error
    if manifest.schema_version != SCHEMA_VERSION:
        raise UnreadableSnapshotError(
            f"{path} has the schema version {manifest.schema_version}, and this is for {SCHEMA_VERSION}: "
            "use the version of Truelift that wrote it, or take a new snapshot"
        )
    return manifest


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest of the snapshot in `folder` atomically."""
    text = msgspec.json.format(seal_object(msgspec.json.encode(manifest)), indent=2)
    with placed(folder / MANIFEST) as draft:
        draft.write_bytes(text + b"\n")
