"""Addresses of a project and of what it has, which the API and pages share."""

from urllib.parse import quote

from starlette.requests import Request


def project_address(request: Request) -> str:
    """Return the address of the project of a page: `/projects/prj_1`."""
    return f"/projects/{quote(request.path_params['project_id'], safe='')}"


def item_address(request: Request, kind: str) -> str:
    """Return the address of one of the project's things: `/projects/prj_1/metrics/met_1`."""
    return f"{project_address(request)}/{kind}/{quote(request.path_params['item_id'], safe='')}"
