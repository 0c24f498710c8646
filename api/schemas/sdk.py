"""Answers of the SDK endpoints: results of events, and assignments."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pipeline.events.rejections import CODES, NOT_COUNTED, OTHER_CURRENCY


class EventResult(BaseModel):
    """Result of an event."""

    event_id: str | None = Field(
        description="Id of the event: one with the same id counts once; null where the event had none.",
        examples=["e_90c2"],
    )
    status: Literal["ok", "rejected"] = Field(
        description="`ok` for an event that need not be sent again, else `rejected`."
    )
    code: str | None = Field(
        description=(
            f"`{NOT_COUNTED}` for an exposure that is stored but does not count, or an event that is not "
            f"stored because the visitor's consent is missing; `{OTHER_CURRENCY}` for an order in a currency "
            "that no revenue goal counts (`message` says why); or the reason of a "
            f"rejection: {', '.join(f'`{code}`' for code in CODES)}."
        ),
        examples=[None],
    )
    message: str | None = Field(
        description="Why it was rejected, or does not count; null for others.", examples=[None]
    )


class EventResults(BaseModel):
    """Results of events, in the order of the request.

    An event with `ok` is `accepted`, whether it counts or not, and need not be sent again. It is stored,
    unless the visitor's consent is missing.
    """

    accepted: int = Field(description="Events that need not be sent again.", examples=[1])
    rejected: int = Field(description="Events that were not taken; `results` says why.", examples=[0])
    results: list[EventResult] = Field(description="Result of each event, in the order of the request.")


class ShownChange(BaseModel):
    """A change of the page."""

    id: str = Field(examples=["chg_n6d4wrpk3vq7xm2c5tzh"])
    selector: str
    action: str = Field(examples=["set_text"])
    value: str = Field(
        description="The new text, HTML, style or address, as the action says.", examples=["Order now"]
    )


class ShownExperiment(BaseModel):
    """Assignment of a visitor in an experiment; without a variant where the visitor takes no part."""

    experiment_id: str
    test_key: str
    variant_id: str | None
    variant_name: str | None
    status: Literal["new", "existing", "forced", "excluded", "rollout"] = Field(
        description="`new` or `existing` assignment, `forced` by the request, `excluded`, or in `rollouts` "
        "`rollout`."
    )
    reason: str = Field(
        description="Why the visitor sees this variant, or takes no part: in words, or `no_unit` without the "
        "id that the experiment assigns by."
    )
    covers_page: bool = Field(
        description="Whether the experiment is on the page of the visit; true where it has no `url`."
    )
    changes: list[ShownChange]
    payload: Any = Field(
        description="JSON for the code of the site; null for none.", examples=[{"button": "Order now"}]
    )
    redirect_url: str | None = Field(
        description="Address to go to; null where the visitor stays.",
        examples=["https://shop.example/checkout-2"],
    )


class ShownRollout(ShownExperiment):
    """The shipped variant of a rollout, which everybody eligible gets and nobody is counted for."""

    rollout_id: str = Field(
        description="Id of the rollout, under which `config` has it.", examples=["rol_m2c5tzhn6d4wrpk3vq7x"]
    )


class ShownGoal(BaseModel):
    """A goal to track."""

    id: str = Field(examples=["goal_d4wr3chn6zp2v7xk5qmt"])
    experiment_id: str
    name: str = Field(examples=["Order placed"])
    goal_type: str = Field(examples=["custom_event"])
    is_primary: bool
    config: dict[str, Any] = Field(
        description="What is tracked and how it is measured, by goal type.",
        examples=[{"event_name": "purchase"}],
    )


class ShownHoldout(BaseModel):
    """The place of a visitor in a holdout in force."""

    holdout_id: str = Field(description="Id of the holdout.", examples=["hld_v7xk5qmtd4wr3chn6zp2"])
    variant_id: str | None = Field(
        description="Variant of the holdout; null for a visitor who was seen before it began.",
        examples=["var_f3kq7xm2w5c4hn6d2tzp"],
    )
    is_held_out: bool = Field(
        description="Whether the visitor sees no test and no rollout that the holdout is of."
    )


class ShownGroupHoldout(ShownHoldout):
    """The place of a visitor in the holdout of an exclusion group."""

    group_id: str = Field(description="Id of the group.", examples=["grp_q7xm2c5tzhn6d4wrpk3v"])


class VisitAnswer(BaseModel):
    """Assignments of a visitor, who is counted once an exposure is tracked."""

    visitor_id: str = Field(description="Id of the visitor, new where none was sent.")
    assignments: list[ShownExperiment] = Field(
        description="What the visitor sees in each experiment of the page."
    )
    rollouts: list[ShownRollout] = Field(description="Shipped variants of the page, which are not counted.")
    goals: list[ShownGoal] = Field(description="Goals that the page tracks.")
    holdout: ShownHoldout | None = Field(
        None, description="Only while a holdout of the whole project is in force."
    )
    group_holdouts: list[ShownGroupHoldout] | None = Field(
        None, description="Only while holdouts of exclusion groups are in force."
    )


class SdkConfig(BaseModel):
    """What assigns visitors in the running and paused experiments of a project."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": True})

    version: int = Field(alias="schema", description="Version of this form.", examples=[3])
    project_id: str
    sdk_key: str
    hosts: list[str] = Field(
        description="Hosts of the project's pages; `*.` stands for all subdomains.",
        examples=[["shop.example"]],
    )
    time_zone: str = Field(description="IANA time zone of reported days.", examples=["Europe/Vienna"])
    settings: dict[str, Any] = Field(description="Settings of the project that browsers follow.")
    integrations: dict[str, Any] = Field(description="Other services that the page tells of assignments.")
    facts: dict[str, Any] | None = Field(
        description="What the headers of the request say about the visitor, where an experiment targets it.",
        examples=[{"country": "AT"}],
    )
    clicks: list[str] = Field(description="CSS selectors of click goals.", examples=[["#buy"]])
    ga4_events: list[dict[str, Any]] = Field(
        description="Events of GA4 goals.", examples=[[{"event_name": "purchase"}]]
    )
    automata: list[Any] = Field(
        description="Compiled regular expressions, which the experiments refer to.", examples=[[]]
    )
    experiments: list[dict[str, Any]] = Field(
        description="Thresholds, pages, targeting and changes, with names and payloads of variants that are "
        "public; `unsettled` ranges of hashes where weights have changed; `group` with the hashes of an "
        "exclusion group's slots. With an API key `definition`, too: the experiment as it is stored, and "
        "`epochs` of weights.",
        examples=[[]],
    )
    rollouts: list[dict[str, Any]] = Field(
        description="Shipped variants that everybody eligible gets, and nobody is counted for: as "
        "`experiments`, with the `experiment_id` of each, and one variant that takes all traffic.",
        examples=[[]],
    )
    holdout: dict[str, Any] | None = Field(
        None,
        description="Only while a holdout of the whole project is in force: what its hash is made of,"
        " thresholds and variants.",
        examples=[None],
    )
    group_holdouts: list[dict[str, Any]] | None = Field(
        None,
        description="Only for API keys while holdouts of exclusion groups are in force: the same of each, and"
        " its `group_id`.",
        examples=[None],
    )
