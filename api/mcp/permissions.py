"""Permissions of an operation beyond scopes, read from the dependencies of its route."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts

from api.auth import Caller
from api.deps import authorized_account_wide, managing_keys
from pipeline.store.catalog.catalog import Catalog

Permission = Callable[[Caller, Catalog], bool]


def _is_account_wide(caller: Caller, _: Catalog) -> bool:
    return caller.key.is_account_wide


def _manages_keys(caller: Caller, catalog: Catalog) -> bool:
    return catalog.members.get(caller.account.id, caller.key.member_id).manages_keys


# The dependency that refuses a caller → whether a caller has the permission.
PERMISSION_OF: Final[Mapping[Callable[..., Any], Permission]] = {
    authorized_account_wide: _is_account_wide,
    managing_keys: _manages_keys,
}


def permissions_of(app: FastAPI) -> dict[str, tuple[Permission, ...]]:
    """Return the permissions that every operation requires, by operation id."""
    routes = (context.original_route for context in iter_route_contexts(app.state.operations()))
    return {
        route.name: tuple(PERMISSION_OF[call] for call in _calls(route.dependant) if call in PERMISSION_OF)
        for route in routes
        if isinstance(route, APIRoute)
    }


def _calls(dependant: Dependant) -> Iterator[Callable[..., Any]]:
    if dependant.call is not None:
        yield dependant.call
    for dependency in dependant.dependencies:
        yield from _calls(dependency)
