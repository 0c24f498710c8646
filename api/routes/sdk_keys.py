"""Public keys of a project: list, rotate and expire."""

from functools import partial

from api.bodies.json_body import OptionalJsonObject
from api.deps import CatalogDep, Now, ProjectsWriter, ReadableProject, WritableProject
from api.errors import BODY_CODES, KEY_CODES, documented
from api.idempotency.route import IdempotentRoute
from api.openapi import taking
from api.routers import PREFIX, router_at
from api.schemas.envelopes import Single
from api.schemas.inputs import SDK_KEY_ROTATION
from api.schemas.sdk_keys import SdkKeys
from engine.design.project import expire_sdk_keys as without_previous
from engine.design.project import rotate_sdk_key as rotated
from pipeline.store.catalog.ids import new_sdk_key

router = router_at(
    PREFIX + "/projects/{id}",
    tags=["Projects"],
    route_class=IdempotentRoute,
    responses=documented(*KEY_CODES, "not_found"),
)


@router.get("/sdk_keys")
def list_sdk_keys(project: ReadableProject, now: Now) -> Single[SdkKeys]:
    """List the public keys that the SDK endpoints accept: the current one, and replaced ones."""
    return Single(data=SdkKeys.of(project, now))


@router.post(
    "/rotate_sdk_key",
    responses=documented(*BODY_CODES),
    openapi_extra=taking(SDK_KEY_ROTATION, is_required=False),
)
def rotate_sdk_key(
    caller: ProjectsWriter, project: WritableProject, body: OptionalJsonObject, catalog: CatalogDep, now: Now
) -> Single[SdkKeys]:
    """Replace the public key; the old one still works for `grace_period_hours`, a week by default."""
    rotate = partial(rotated, fields=body, new_key=new_sdk_key(), now=now)
    changed = catalog.projects.change(caller.account.id, project.id, rotate, actor=caller.actor)
    return Single(data=SdkKeys.of(changed, now))


@router.post("/expire_sdk_keys")
def expire_sdk_keys(
    caller: ProjectsWriter, project: WritableProject, catalog: CatalogDep, now: Now
) -> Single[SdkKeys]:
    """End the grace period of every replaced public key at once; the current key stays."""
    expire = partial(without_previous, now=now)
    changed = catalog.projects.change(caller.account.id, project.id, expire, actor=caller.actor)
    return Single(data=SdkKeys.of(changed, now))
