"""Segment values that results can be filtered by, under the API's names."""

from typing import Any

from engine.design.experiment import Experiment
from pipeline.rollup.segment_values import segment_choices
from pipeline.store.event_columns import DIMENSIONS
from pipeline.store.warehouse import published as published_rollups
from pipeline.store.warehouse.connection import Warehouse
from pipeline.store.warehouse.segment_dimensions import CUSTOM_PREFIX


def read_available_segments(warehouse: Warehouse, experiment: Experiment) -> dict[str, Any]:
    """Read the values of an experiment's published results, at most 200 per dimension."""
    with warehouse.transaction() as cursor:
        published = published_rollups.find(cursor, experiment.id)
        choices = segment_choices(cursor, experiment, published) if published else {}
    return {
        **{one.plural: choices.get(name, []) for name, one in DIMENSIONS.items()},
        "custom_dimensions": [
            {"key": key, "label": _label(key), "values": values}
            for name, values in sorted(choices.items())
            if (key := name.removeprefix(CUSTOM_PREFIX)) != name
        ],
    }


def _label(key: str) -> str:
    return key.replace("_", " ").replace("-", " ").strip().capitalize() or key
