"""Routes of the operator's endpoints."""

from typing import Final

from starlette.routing import Route

from api.operator.backups import create_backup

ROUTES: Final = (Route("/operator/backups", create_backup, methods=["POST"]),)
