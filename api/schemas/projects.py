"""Answers about projects."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from engine.design import project
from engine.vocabulary import Platform
from pipeline.erasure import person_erasure
from pipeline.store.catalog.experiment_changes import ExperimentNumbers
from pipeline.store.warehouse.visitor_totals import Totals

TIMEZONE = "IANA time zone of the reported days, such as `America/New_York`; UTC while null."


class Project(BaseModel):
    """A website or app on which experiments run."""

    id: str = Field(examples=["prj_x7km3qv2c5tzhn6d4wrp"])
    name: str = Field(examples=["Shop"])
    url: str = Field(examples=["https://shop.example"])
    platform: Platform
    installation_guide: Platform
    reporting_timezone: str | None = Field(description=TIMEZONE, examples=["Europe/Vienna"])
    integrations: dict[str, Any]
    environments: list[dict[str, Any]]
    settings: dict[str, Any]
    snippet_verified: bool = Field(
        description="Whether a page on one of the project's hostnames has called the SDK endpoints."
    )
    running_experiments_count: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, found: project.Project, running: int) -> "Project":
        """Describe a project of which `running` experiments run."""
        return cls(**asdict(found), running_experiments_count=running)


class NewProject(Project):
    """A project that was just created."""

    api_key: str = Field(
        description="Public SDK key, `pk_<token id>`, for the SDK endpoints only.",
        examples=["pk_w5c4hn6d2tzpf3kq7xm2"],
    )

    @classmethod
    def of_new(cls, created: project.Project) -> "NewProject":
        """Describe a new project, without running experiments."""
        return cls(**asdict(created), running_experiments_count=0, api_key=created.sdk_key)


class ProjectStats(BaseModel):
    """Usage of a project; a visitor of several experiments counts once."""

    total_experiments: int = Field(
        description="Number of experiments, archived ones included.", examples=[14]
    )
    running_experiments: int = Field(description="Experiments that run now.", examples=[2])
    total_visitors: int = Field(description="Visitors counted in an experiment.", examples=[835053])
    total_conversions: int = Field(
        description="Visitors who converted on the primary goal of an experiment.", examples=[46120]
    )
    visitors_30d: int = Field(
        description="Visitors first exposed to an experiment in the last 30 days.", examples=[120480]
    )
    conversions_30d: int = Field(
        description="Visitors who converted on a primary goal in the last 30 days.", examples=[6710]
    )

    experiments_counted_outside: int = Field(
        description="Experiments with sums from outside, whose visitors are in none of these numbers: sums "
        "do not tell who is in several experiments.",
        examples=[0],
    )

    @classmethod
    def of(cls, experiments: ExperimentNumbers, totals: Totals, counted_outside: int) -> "ProjectStats":
        """Describe the totals over all experiments of a project."""
        return cls(
            total_experiments=experiments.total,
            running_experiments=experiments.running,
            total_visitors=totals.visitors,
            total_conversions=totals.converted,
            visitors_30d=totals.recent_visitors,
            conversions_30d=totals.recently_converted,
            experiments_counted_outside=counted_outside,
        )


class ProjectInstallation(BaseModel):
    """Installation of the SDK on the site."""

    platform: Platform
    installation_guide: Platform
    snippet_verified: bool = Field(
        description="Whether a page on one of the project's hostnames has called the SDK endpoints."
    )
    snippet_html: str = Field(
        description="HTML for the start of the head of every page.",
        examples=['<script async src="https://ab.example/sdk/v1/pk_w5c4hn6d2tzpf3kq7xm2.js"></script>'],
    )
    async_snippet_html: str = Field(
        description="The same for pages that allow no inline script: the original may be seen first.",
        examples=['<script async src="https://ab.example/sdk/v1/pk_w5c4hn6d2tzpf3kq7xm2.js"></script>'],
    )
    script_sha256: str = Field(
        description="Hash of the inline script in `snippet_html` for `script-src`, equal for all projects.",
        examples=["sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="],
    )
    content_security_policy: str = Field(
        description="What the `Content-Security-Policy` of a page has to allow, if it has one.",
        examples=["script-src 'self' https://ab.example; connect-src https://ab.example"],
    )
    api_key: str = Field(
        description="Public SDK key, `pk_<token id>`, for the SDK endpoints only.",
        examples=["pk_w5c4hn6d2tzpf3kq7xm2"],
    )
    tracking_snippet: str = Field(
        description="Example code that reports an order.",
        examples=["truelift.track('purchase', { revenue_cents: 4990 });"],
    )
    storefront_pixel_code: str | None = Field(
        description="Code for the customer events of a Shopify store; null for other platforms.",
        examples=[None],
    )


class ReadBack(BaseModel):
    """A place that was read after an erasure."""

    place: str = Field(
        description="What can hold a person, such as `snapshots`; see the docs on personal data.",
        examples=["snapshots"],
    )
    left: int = Field(description="How often the person is still there; 0 where it is gone.", examples=[0])


class Erasure(BaseModel):
    """Receipt of an erasure, without the ids of the person."""

    id: str = Field(examples=["ers_5tzhn6d4wrpk3vq7xm2c"])
    project_id: str
    erased_at: datetime = Field(description="When the person was gone from everything, in UTC.")
    visitor_ids: int = Field(
        description="Visitor ids that counted as this person, the given one included.", examples=[2]
    )
    user_ids: int = Field(
        description="User ids that counted as this person, the given one included.", examples=[1]
    )
    events: int = Field(
        description="Removed events; 0 where nothing of the person was stored.", examples=[214]
    )
    recounted: list[str] = Field(
        description="Ids of the experiments that were counted again without it.",
        examples=[["exp_k3vq7xm2c5tzhn6d4wrp"]],
    )
    sums_kept: list[str] = Field(
        description="Ids of completed experiments with a row of the person, which names nobody any more; "
        "their numbers stay.",
        examples=[["exp_k3vq7xm2c5tzhn6d4wrp"]],
    )
    snapshot_written: bool = Field(description="Whether the snapshot was written again without the person.")
    read_back: list[ReadBack] = Field(description="Every place that can hold a person and is erased.")
    not_reached: list[str] = Field(
        description="Places that the service has written and does not erase: `event files`, where a "
        "tombstone tells their readers what to delete.",
        examples=[["event files"]],
    )
    is_complete: bool = Field(description="Whether nothing of the person was read back.")

    @classmethod
    def of(cls, receipt: person_erasure.Receipt) -> "Erasure":
        """Describe a receipt."""
        return cls(**receipt.to_json())
