"""Routes of the operator's endpoints."""

from typing import Final

from starlette.routing import Route

from api.operator.backups import create_backup
from api.operator.metrics import get_metrics
from api.operator.reports import create_report

ROUTES: Final = (
    Route("/operator/backups", create_backup, methods=["POST"]),
    Route("/operator/reports", create_report, methods=["POST"]),
    Route("/metrics", get_metrics, methods=["GET"]),
)
