"""Inspection of a store: its catalog, warehouse, sequence numbers and snapshots against each other."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from pipeline.encryption_key import SecretsKeyError, open_cipher
from pipeline.erased_keys import FOLDER as ERASURES
from pipeline.settings import Settings
from pipeline.snapshots.files import digest_of
from pipeline.snapshots.manifest import MANIFEST, Manifest, UnreadableSnapshotError, read_manifest
from pipeline.sources.watermarks import FOLDER as WATERMARKS
from pipeline.store.catalog.backends import sqlite_path
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import CatalogError
from pipeline.store.ownership.catalog_damage import catalog_damage
from pipeline.store.ownership.commit_mark import CommitMark, is_damaged_mark
from pipeline.store.ownership.content_mark import content_mark
from pipeline.store.ownership.damage import DamagedStoreError
from pipeline.store.ownership.warehouse_facts import UnreadableWarehouseError, WarehouseFacts, read_facts
from pipeline.store.sealed_files import unseal
from pipeline.store.spool.spool_facts import inspect_spool

RESTORE: Final = (
    "put the missing file back or restore a backup of the whole data folder; to go on with what is there, "
    "start `truelift serve --accept-loss` once"
)
REBUILD: Final = "count the results anew with `truelift rollup --full`"
REPORT: Final = "report them as a defect of truelift, and remove the file once they are stored or not needed"
REPORT_ERROR: Final = "report it as a defect of truelift, with the error in the log"
PUT_BACK: Final = "put it back from a backup; `truelift backup` copies it"
SERVE: Final = "nothing else is wrong: it tells of damage of others, and `truelift serve` writes it anew"
REWRITE: Final = "write the snapshots anew with `truelift snapshot`"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a part of the store, and what to do about it."""

    part: str
    problem: str
    action: str


def inspect_store(settings: Settings) -> list[Finding]:
    """Compare the parts of a store that this process has locked; an empty list is a sound store.

    A comparison that raises is a finding, is logged by its part, and hides no other.
    """
    # First, since the catalog's mark is written anew where it is closed.
    findings = _found("files", partial(_sealed_findings, settings))
    facts = _read_warehouse(settings, findings)
    catalog = _open_catalog(settings, findings)
    try:
        if catalog is not None:
            findings += _found("catalog", partial(_catalog_findings, catalog, settings, facts))
    finally:
        if catalog is not None:
            catalog.close()
    if facts is not None:
        findings += _found("sequence numbers", partial(_sequence_findings, settings, facts))
    findings += _found("refused events", partial(_refused_findings, settings))
    findings += _found("snapshots", partial(_snapshot_findings, settings, facts))
    return findings


def _found(part: str, compare: Callable[[], Iterator[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(compare())
    except Exception as error:
        logger.exception("the check of the %s failed", part)
        found.append(Finding(part, f"the {part} could not be checked: {error!r}", REPORT_ERROR))
    return found


def _read_warehouse(settings: Settings, findings: list[Finding]) -> WarehouseFacts | None:
    if not settings.warehouse_path.exists():
        return None
    try:
        return read_facts(settings.warehouse_path)
    except UnreadableWarehouseError as error:
        findings.append(Finding("warehouse", f"{settings.warehouse_path} is damaged: {error}", RESTORE))
        return None


def _open_catalog(settings: Settings, findings: list[Finding]) -> Catalog | None:
    path = sqlite_path(settings.effective_catalog_url)
    if path is not None and not path.exists():
        findings.append(Finding("catalog", f"{path} is missing", RESTORE))
        return None
    try:
        damage = catalog_damage(path) if path is not None else None
        if damage is None:
            return Catalog.open(settings)
        findings.append(Finding("catalog", f"{path} is damaged: {damage}", RESTORE))
    except DamagedStoreError as error:
        findings.append(Finding("catalog", error.problem, RESTORE))
    except CatalogError as error:
        findings.append(Finding("catalog", str(error), RESTORE))
    return None


def _catalog_findings(
    catalog: Catalog, settings: Settings, facts: WarehouseFacts | None
) -> Iterator[Finding]:
    record = catalog.warehouses.find()
    if facts is None:
        is_expected = record.is_confirmed if record else bool(catalog.projects.ids())
        if is_expected and not settings.warehouse_path.exists():
            where = f"; it was last opened in {record.folder}" if record else ""
            yield Finding("warehouse", f"{settings.warehouse_path} is missing{where}", RESTORE)
        return
    if record is not None and facts.id != record.id and (facts.id or record.is_confirmed):
        yield Finding("warehouse", "it is not the warehouse of this catalog", RESTORE)
    if record is None and facts.id is not None:
        yield Finding("catalog", "it is not the catalog of this warehouse", RESTORE)
    known = catalog.projects.ids()
    for project_id in facts.newest_seqs:
        if project_id not in known and not catalog.audit.was_deleted(project_id):
            problem = f"project {project_id} has events in the warehouse, and is not in the catalog"
            yield Finding("catalog", problem, RESTORE)


def _sequence_findings(settings: Settings, facts: WarehouseFacts) -> Iterator[Finding]:
    acknowledged = CommitMark(settings.warehouse_path).read()
    spool = inspect_spool(settings.spool_path, facts.id, facts.loaded_seq)
    if spool.problem is not None:
        yield Finding("spool", spool.problem, RESTORE)
    newest = max(facts.newest_seq, spool.last_seq)
    if newest < acknowledged:
        problem = (
            f"{acknowledged - newest:,} acknowledged events are missing, up to number {acknowledged}: the "
            "log of the warehouse, or the spool, was removed or damaged"
        )
        yield Finding("sequence numbers", problem, RESTORE)
    for project_id, repeated in facts.repeated_seqs.items():
        if repeated:
            problem = f"{repeated:,} events of project {project_id} have the number of another event"
            yield Finding("sequence numbers", problem, RESTORE)
    for experiment_id, covered in facts.covered_seqs.items():
        if covered > facts.newest_seq:
            problem = f"results of experiment {experiment_id} count events that are not in the warehouse"
            yield Finding("sequence numbers", problem, REBUILD)


def _sealed_findings(settings: Settings) -> Iterator[Finding]:
    """Read the small files whose content has a digest."""
    databases = [settings.warehouse_path, sqlite_path(settings.effective_catalog_url)]
    for path in filter(None, databases):
        for mark in (CommitMark(path).path, content_mark(path)):
            if is_damaged_mark(mark):
                yield Finding("marks", f"{mark} is damaged", SERVE)
    try:
        if settings.secrets_key is not None or settings.secrets_key_path.exists():
            open_cipher(settings)
    except SecretsKeyError as error:
        yield Finding("encryption key", str(error), PUT_BACK)
    for folder in (ERASURES, WATERMARKS):
        for path in sorted(settings.data_dir.glob(f"{folder}/*.json")):
            try:
                msgspec.json.decode(unseal(path.read_bytes()))
            except (ValueError, msgspec.DecodeError):
                yield Finding(folder, f"{path} is damaged", PUT_BACK)


def _refused_findings(settings: Settings) -> Iterator[Finding]:
    for path in sorted(settings.refused_events_path.glob("*.json")):
        yield Finding("refused events", f"the warehouse refused the acknowledged events in {path}", REPORT)


def _snapshot_findings(settings: Settings, facts: WarehouseFacts | None) -> Iterator[Finding]:
    for path in sorted(settings.snapshots_path.glob(f"*/{MANIFEST}")):
        try:
            manifest = read_manifest(path.parent)
        except UnreadableSnapshotError as error:
            yield Finding("snapshots", str(error), REWRITE)
            continue
        yield from _file_findings(path.parent, manifest)
        newest = facts.newest_seqs.get(manifest.project_id) if facts else None
        if newest is not None and manifest.last_seq > newest:
            problem = (
                f"the snapshot of project {manifest.project_id} has events up to number {manifest.last_seq}, "
                f"and the warehouse up to {newest}"
            )
            action = f"keep a copy of {path.parent}, which has the missing events; then {RESTORE}"
            yield Finding("snapshots", problem, action)


def _file_findings(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    for file in manifest.files:
        path = folder / file.path
        if not path.is_file():
            yield Finding("snapshots", f"{path} is missing", REWRITE)
        elif path.stat().st_size != file.bytes or (file.sha256 and digest_of(path) != file.sha256):
            yield Finding("snapshots", f"{path} is damaged", REWRITE)
