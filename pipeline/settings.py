"""Settings of the service; the environment variable `TRUELIFT_<NAME>` overrides a default."""

import os
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, Final, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from pipeline.mail_settings import MailSettings

_PREFIX: Final = "TRUELIFT_"
# Ratio of difflib from which on a variable is a misspelled setting. "catalog" is like "catalog_url" by 0.78,
# "sdk_key" like "secrets_key" by 0.56.
_LIKENESS: Final = 0.6


class _Environment(EnvSettingsSource):
    """Variables of the environment, each the text of one setting.

    Otherwise it is looked up at each reading which settings might be written as JSON: no one is.
    """

    def __call__(self) -> dict[str, Any]:
        """Find the texts of the settings that are set."""
        keys = {name: f"{_PREFIX}{name}".lower() for name in self.settings_cls.model_fields}
        return {name: self.env_vars[key] for name, key in keys.items() if key in self.env_vars}


class Settings(MailSettings, BaseSettings):
    """Locations, limits and intervals; sizes in bytes, times in seconds."""

    model_config = SettingsConfigDict(env_prefix=_PREFIX, frozen=True, extra="forbid")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take what is given, then the environment; there is no file of settings."""
        return init_settings, _Environment(settings_cls)

    data_dir: Path = Field(
        Path("data/store"), description="Folder of the catalog, the warehouse and the secrets."
    )
    catalog_url: str | None = Field(
        None,
        description="The catalog's database, as `postgresql://user@host/database`; "
        "SQLite in the data folder if unset.",
    )
    base_url: str = Field(
        "http://127.0.0.1:8000",
        description="Where browsers and assistants reach the service; unless set, the address that "
        "`truelift serve` listens on, and 127.0.0.1 where that is every address.",
    )
    trusted_proxies: str = Field(
        "127.0.0.0/8,::1",
        description="Networks whose `X-Forwarded-For` and location headers are believed, separated by "
        "commas; empty for none.",
    )

    geoip_file: Path | None = Field(
        None,
        description="File in the format of MaxMind DB, such as GeoLite2-City.mmdb, that tells the country, "
        "region and city of a network address; read at the start.",
    )

    max_connections: int = Field(
        10_000, gt=0, description="Connections at once; fewer where the limit of open files is lower."
    )
    connections_per_address: int = Field(
        500,
        gt=0,
        description="Connections at once from an address, or an IPv6 network of 64 bits, that is "
        "no trusted proxy's.",
    )

    secrets_key: SecretStr | None = Field(
        None, description="Key that encrypts stored replies; a file in the data folder by default."
    )
    metrics_token: SecretStr | None = Field(
        None, description="Token with which `/metrics` can be read; without it there are no metrics."
    )
    rate_limit_url: str = Field(
        "memory://", description="Where requests are counted; `redis://…` shares the counts among processes."
    )
    sdk_rate_limit_per_minute: int = Field(
        600_000, gt=0, description="Requests a minute to the SDK endpoints of one project."
    )
    browser_events_per_minute: int = Field(
        12_000_000, gt=0, description="Events a minute from the browsers of one project."
    )
    browser_bytes_per_minute: int = Field(
        2**33, gt=0, description="Bytes of bodies a minute from the browsers of one project."
    )
    address_events_per_minute: int = Field(
        60_000, gt=0, description="Events a minute from the browsers at one network address."
    )
    address_bytes_per_minute: int = Field(
        2**26, gt=0, description="Bytes of bodies a minute from the browsers at one network address."
    )
    browser_amount_limit: int = Field(
        100_000,
        gt=0,
        description="Largest amount that a browser may report, in units of about a US dollar.",
    )

    ingest_queue_bytes: int = Field(
        64 * 2**20, gt=0, description="Memory of events waiting for the disk before 503 is answered."
    )
    ingest_commit_rows: int = Field(50_000, gt=0, description="At most this many events share one commit.")
    spool_bytes: int = Field(
        2**30,
        gt=0,
        description="Acknowledged events on disk that the warehouse lacks, before 503 is answered.",
    )

    min_free_disk_bytes: int = Field(
        256 * 2**20,
        ge=0,
        description="Free space on the disk below which events, counts, snapshots and exports are refused.",
    )
    backup_before_upgrade: bool = Field(
        True,
        description="Whether a store of an earlier version is copied before it is migrated.",
    )
    checkpoint_log_bytes: int = Field(
        256 * 10**6, gt=0, description="Size of the warehouse's log that is moved into its file at once."
    )

    import_bytes: int = Field(2**30, gt=0, description="Size of a file that is sent to be imported.")

    webhook_networks: str = Field(
        "",
        description="Networks that webhooks may reach although they are not public, such as `10.0.0.0/8`, "
        "separated by commas; with http, too.",
    )

    rollup_bucket_events: int = Field(2_000_000, gt=0, description="Events processed at once; bounds memory.")
    refresh_seconds: int = Field(
        60, gt=0, description="How often running experiments are brought up to date."
    )
    bandit_seconds: int = Field(3600, gt=0, description="How often the weights of running bandits may move.")
    fresh_read_seconds: float = Field(
        2.0, ge=0, description="How long a results read waits for newer events."
    )

    results_threads: int = Field(
        8, gt=0, description="Results computed at once; those of one project take at most half of them."
    )
    kept_results_bytes: int = Field(
        64 * 2**20,
        ge=0,
        description="Memory for answers about results, kept while nothing changes; 0 keeps none.",
    )
    results_seconds: float = Field(
        30.0, gt=0, description="How long a results read may wait and take before 503 is answered."
    )

    snapshot_seconds: int = Field(
        3600, ge=0, description="How often snapshots are written for other programs to read; 0 for never."
    )
    snapshots_dir: Path | None = Field(
        None, description="Folder of the snapshots; `snapshots` in the data folder if unset."
    )

    event_files: str | None = Field(
        None,
        description="Folder, or `s3://bucket/prefix`, in which the events of every project are written as "
        "Parquet each hour; nowhere if unset.",
    )
    event_files_days: int = Field(
        0, ge=0, description="Days after which event files are removed; 0 for never."
    )

    duckdb_memory_limit: str | None = Field(
        None,
        description="Memory that the warehouse may use, such as `4GB`; half of the machine's or the "
        "container's, at most 1.5 GiB, if unset.",
    )
    duckdb_threads: int | None = Field(
        None, gt=0, description="Threads of the warehouse; every core if unset."
    )

    @field_validator("trusted_proxies", "webhook_networks")
    @classmethod
    def _has_networks(cls, value: str) -> str:
        _networks(value)
        return value

    @property
    def trusted_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Networks of the trusted proxies."""
        return _networks(self.trusted_proxies)

    @property
    def reachable_networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Networks that webhooks may reach beside the public ones."""
        return _networks(self.webhook_networks)

    @model_validator(mode="after")
    def _refuse_misspelled_variables(self) -> Self:
        nearest = {name: _nearest(name) for name in _unknown_variables()}
        if problems := [_misspelled(name, setting) for name, setting in nearest.items() if setting]:
            raise ValueError("; ".join(problems))
        return self

    @property
    def has_base_url(self) -> bool:
        """Tell whether somebody set the base URL."""
        return "base_url" in self.model_fields_set

    @property
    def warehouse_path(self) -> Path:
        """Path of the DuckDB file."""
        return self.data_dir / "warehouse.duckdb"

    @property
    def spool_path(self) -> Path:
        """Folder of acknowledged events that are not in the warehouse yet."""
        return self.data_dir / "spool"

    @property
    def refused_events_path(self) -> Path:
        """Folder of acknowledged events that the warehouse refuses."""
        return self.data_dir / "refused-events"

    @property
    def held_webhooks_path(self) -> Path:
        """Mark of a restored store, which sends no webhooks while it has it."""
        return self.data_dir / "webhooks-held"

    @property
    def secrets_key_path(self) -> Path:
        """Path of the encryption key, used where `secrets_key` is unset."""
        return self.data_dir / "secrets.key"

    @property
    def command_keys_path(self) -> Path:
        """Path of the API keys with which commands ask the service that owns the store."""
        return self.data_dir / "command-keys.json"

    @property
    def assignments_path(self) -> Path:
        """Folder with files of each project's first assignments, which can be read anew from the events."""
        return self.data_dir / "assignments"

    @property
    def event_keys_path(self) -> Path:
        """Folder with files of the keys of each project's events, which can be made anew from these."""
        return self.data_dir / "event-keys"

    @property
    def staged_imports_path(self) -> Path:
        """Folder of rows of imports that are read, and not stored yet."""
        return self.data_dir / "staged-imports"

    @property
    def uploads_path(self) -> Path:
        """Folder of files that were sent to be imported, by project."""
        return self.data_dir / "import-uploads"

    @property
    def command_imports_path(self) -> Path:
        """Folder of imports that commands leave to the service, and of their outcomes."""
        return self.data_dir / "command-imports"

    @property
    def snapshots_path(self) -> Path:
        """Folder with a snapshot of each project."""
        return self.snapshots_dir or self.data_dir / "snapshots"

    @property
    def effective_catalog_url(self) -> str:
        """URL of the catalog's database: `catalog_url`, or SQLite in the data folder."""
        return self.catalog_url or f"sqlite:///{self.data_dir / 'catalog.sqlite3'}"


class SettingsError(Exception):
    """A setting that does not exist, or a value that it cannot have; the message names each."""


def read_settings(**given: Path | int) -> Settings:
    """Read the settings of the environment, but for the `given` ones; SettingsError."""
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        problems = [_sentence(problem) for problem in error.errors(include_url=False, include_context=False)]
        raise SettingsError("; ".join(problems)) from None


def ignored_variables() -> list[str]:
    """List the variables of the environment with the prefix of settings that are not like any of them.

    Programs have such variables of their own, and Kubernetes sets TRUELIFT_PORT and others for a service
    named truelift.
    """
    return [name for name in _unknown_variables() if _nearest(name) is None]


def _sentence(problem: ErrorDetails) -> str:
    message = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return message
    return f"{_PREFIX}{str(problem['loc'][0]).upper()}={problem['input']}: {message}"


def _unknown_variables() -> list[str]:
    return [
        name
        for name in sorted(os.environ)
        if name.upper().startswith(_PREFIX) and _field(name) not in Settings.model_fields
    ]


def _nearest(name: str) -> str | None:
    """Return the setting that a variable is likely to mean; None where it is like none of them."""
    # Kubernetes and others set TRUELIFT_PORT, which is no misspelled setting of the mail server.
    known = [field for field in Settings.model_fields if field != f"smtp_{_field(name)}"]
    found = get_close_matches(_field(name), known, n=1, cutoff=_LIKENESS)
    return found[0] if found else None


def _misspelled(name: str, nearest: str) -> str:
    return f"there is no setting {name}; the nearest one is {_PREFIX}{nearest.upper()}"


def _field(name: str) -> str:
    return name.upper().removeprefix(_PREFIX).lower()


def _networks(listed: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Read networks and addresses separated by commas; ValueError for one that is neither."""
    return tuple(ip_network(part.strip(), strict=False) for part in listed.split(",") if part.strip())
