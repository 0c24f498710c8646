"""Capabilities: the values that experiments accept."""

from api.deps import CapabilitiesReader
from api.errors import KEY_CODES, documented
from api.routers import PREFIX, router_at
from api.schemas.capabilities import TargetingField
from api.schemas.envelopes import Single
from engine.design.targeting.fields import TARGETING_FIELDS
from engine.vocabulary import ChangeAction, ExperimentType, GoalType, LifecycleTrigger, words

router = router_at(PREFIX + "/capabilities", tags=["Capabilities"], responses=documented(*KEY_CODES))


@router.get("/targeting_fields", response_model_exclude_none=True)
async def list_targeting_fields(_: CapabilitiesReader) -> Single[dict[str, TargetingField]]:
    """List the attributes that targeting rules can use, and the operators of each."""
    return Single(data={name: TargetingField.of(field) for name, field in TARGETING_FIELDS.items()})


@router.get("/goal_types")
async def list_goal_types(_: CapabilitiesReader) -> Single[list[str]]:
    """List the types of goal."""
    return Single(data=list(words(GoalType)))


@router.get("/experiment_types")
async def list_experiment_types(_: CapabilitiesReader) -> Single[list[str]]:
    """List the types of experiment."""
    return Single(data=list(words(ExperimentType)))


@router.get("/visual_change_actions")
async def list_visual_change_actions(_: CapabilitiesReader) -> Single[list[str]]:
    """List the edits that a variant can make to a page."""
    return Single(data=list(words(ChangeAction)))


@router.get("/lifecycle")
async def list_lifecycle_triggers(_: CapabilitiesReader) -> Single[list[str]]:
    """List the triggers that move an experiment through its lifecycle."""
    return Single(data=list(words(LifecycleTrigger)))
