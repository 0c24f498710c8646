"""Check of a described warehouse: its rows and variants, and whether its engine plans the statements."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engine.design import lifecycle
from engine.design.drafting import draft_experiment
from engine.design.experiment import Experiment
from engine.design.project import Project, draft_project
from engine.local_days import epoch_microseconds, from_epoch_microseconds
from pipeline.imports.exposed_experiments import SeenExposures, draft_fields
from pipeline.rollup.counting_rules import CountingRules
from pipeline.sources.definition_files import DefinedSource
from pipeline.store.catalog.ids import new_id
from pipeline.warehouse.team_warehouse import Asked, TeamWarehouse

_NO_PROJECT = "prj_check"
_ASKED = Asked(project_id=_NO_PROJECT, run_id="check", what="plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedWarehouse:
    """A usable warehouse: its rows, the variants of each experiment, and those whose statements it plans.

    `bytes_planned` are those that the statements would be billed for, where the engine tells.
    """

    name: str
    dialect: str
    rows: int
    bytes_planned: int | None
    variants: dict[str, list[str]]
    planned: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Build the object that programs read."""
        return {
            "source": self.name,
            "kind": "warehouse",
            "dialect": self.dialect,
            "rows": self.rows,
            "bytes_planned": self.bytes_planned,
            "experiments": [
                {"name": name, "variants": variants, "is_planned": name in self.planned}
                for name, variants in self.variants.items()
            ],
        }


def check_warehouse(defined: DefinedSource, *, now: datetime) -> CheckedWarehouse:
    """Count the rows of a warehouse, and let its engine plan the statements of experiments it describes.

    UnreadableSourceError, ImportRefusedError or InvalidDesignError where a count would be refused.
    """
    warehouse = TeamWarehouse.of(defined)
    rows = warehouse.require_few_rows(_ASKED)
    seen, _ = warehouse.seen(_ASKED)
    planned, billed = list[str](), list[int]()
    asked = replace(_ASKED, is_planned=True, note_billed=billed.append)
    for experiment in _drafts(warehouse, seen, now):
        rules = CountingRules.of(_project(now))
        statement = warehouse.statement([(experiment, rules)], epoch_microseconds(now))
        # Planned in full, and ended before the first row is read.
        sql = statement.planned_sql() if warehouse.dialect.explain else statement.sql()
        warehouse.answer(sql, asked)
        planned.append(experiment.name)
    return CheckedWarehouse(
        name=defined.name,
        dialect=warehouse.dialect.name,
        rows=rows,
        bytes_planned=sum(billed) if billed else None,
        variants={name: sorted(variants) for name, variants in sorted(seen.variants.items())},
        planned=tuple(planned),
    )


def _drafts(warehouse: TeamWarehouse, seen: SeenExposures, now: datetime) -> Iterator[Experiment]:
    """Build the experiments that the file describes and the rows have, as a count would start them."""
    for listed in warehouse.source.experiments:
        if listed.name in seen.variants:
            fields = draft_fields(listed, seen.variants[listed.name])
            drafted = draft_experiment(
                fields, id="exp_check", project=_project(now), now=now, new_id=new_id, test_key="check"
            )
            first = from_epoch_microseconds(seen.first_us[listed.name])
            yield lifecycle.start(drafted, now=first)


def _project(now: datetime) -> Project:
    fields = {"name": "Check", "url": "https://example.com"}
    return draft_project(fields, id=_NO_PROJECT, account_id="acc_check", sdk_key="pk_check", now=now)
