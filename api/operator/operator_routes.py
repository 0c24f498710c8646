"""Routes of the operator's endpoints."""

from typing import Final

from starlette.routing import Route

from api.operator.backups import create_backup
from api.operator.metrics import get_metrics

ROUTES: Final = (
    Route("/operator/backups", create_backup, methods=["POST"]),
    Route("/metrics", get_metrics, methods=["GET"]),
)
