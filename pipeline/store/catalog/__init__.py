"""The catalog: accounts, members, keys, projects, experiments and the trail of what was done to them."""

from pipeline.store.catalog.accounts import Account
from pipeline.store.catalog.audit import AuditEntry
from pipeline.store.catalog.catalog import Catalog
from pipeline.store.catalog.errors import (
    CatalogBusyError,
    CatalogError,
    InvalidRecordError,
    KeyInUseError,
    KeyReusedError,
    NotFoundError,
    PlanLimitError,
)
from pipeline.store.catalog.ids import free_name, new_id, new_sdk_key
from pipeline.store.catalog.keys import SCOPES, ApiKey, Scope
from pipeline.store.catalog.members import Member
from pipeline.store.catalog.pages import Page

__all__ = [
    "SCOPES",
    "Account",
    "ApiKey",
    "AuditEntry",
    "Catalog",
    "CatalogBusyError",
    "CatalogError",
    "InvalidRecordError",
    "KeyInUseError",
    "KeyReusedError",
    "Member",
    "NotFoundError",
    "Page",
    "PlanLimitError",
    "Scope",
    "free_name",
    "new_id",
    "new_sdk_key",
]
