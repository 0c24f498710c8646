"""All metrics of a project, in the transaction of a caller."""

from sqlalchemy import Connection, Text, cast, select

from engine.design.metrics.metric import Metric
from pipeline.store.catalog.schema import metrics
from pipeline.store.documents import value_from

# As text, so that a document that was read before is not decoded again.
METRIC_DOCUMENT = select(cast(metrics.c.document, Text).label("document"))


def metrics_of(connection: Connection, project_id: str) -> dict[str, Metric]:
    """Return the metrics of a project by id."""
    found = connection.scalars(METRIC_DOCUMENT.where(metrics.c.project_id == project_id))
    return {metric.id: metric for metric in (value_from(text, Metric) for text in found)}
