"""Tables of the catalog: records of the engine as documents, with columns for what is searched."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    false,
    text,
)

from pipeline.store.catalog.column_types import ID, SearchText, UtcDateTime

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

accounts = Table(
    "accounts",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", String, nullable=False),
    Column("slug", String, nullable=False, unique=True),
    Column("plan", String, nullable=False),
    Column("subscription_status", String, nullable=False),
    Column("max_projects_override", Integer),
    Column("rate_limit_override", Integer),
    Column("created_at", UtcDateTime, nullable=False),
)

members = Table(
    "members",
    metadata,
    Column("id", ID, primary_key=True),
    Column("account_id", ID, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("email_address", String, nullable=False),
    Column("role", String, nullable=False),
    Column("accepted_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    UniqueConstraint("account_id", "email_address"),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", ID, primary_key=True),
    Column("account_id", ID, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("member_id", ID, ForeignKey("members.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("environment", String, nullable=False),
    Column("token_id", SearchText, nullable=False, unique=True),
    Column("digest", String, nullable=False),
    Column("key_prefix", String, nullable=False),
    Column("scopes", JSON, nullable=False),
    Column("project_ids", JSON, nullable=False),
    Column("last_used_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("key_id", ID, ForeignKey("api_keys.id", ondelete="CASCADE"), nullable=False),
    Column("token", LargeBinary, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("used_at", UtcDateTime, nullable=False),
)

sign_in_links = Table(
    "sign_in_links",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("token", LargeBinary, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("id", ID, primary_key=True),
    Column("account_id", ID, ForeignKey("accounts.id", ondelete="CASCADE"), nullable=False),
    Column("sdk_key", SearchText, nullable=False, unique=True),
    Column("document", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    # The warehouse with the project's events; null until one opens the catalog.
    Column("warehouse_id", ID),
    # The newest version of its experiments; it grows with each write of one.
    Column("experiments_version", BigInteger, nullable=False, server_default=text("0")),
    Index(None, "account_id", "updated_at"),
)

# Public keys that were replaced; until when each works stands in the project's document.
previous_sdk_keys = Table(
    "previous_sdk_keys",
    metadata,
    Column("sdk_key", SearchText, primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False, index=True),
)

# At most one row. It is confirmed once the warehouse itself has the id, too.
warehouses = Table(
    "warehouses",
    metadata,
    Column("id", ID, primary_key=True),
    Column("folder", String, nullable=False),
    Column("is_confirmed", Boolean, nullable=False),
    Column("host", String, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("since", UtcDateTime, nullable=False),
)

experiments = Table(
    "experiments",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("test_key", String, nullable=False),
    Column("status", String, nullable=False),
    Column("document", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    Column("version", BigInteger, nullable=False, server_default=text("0")),
    # Null where it was last written before variants had payloads.
    Column("payload_bytes", Integer),
    Column("is_holdout", Boolean, nullable=False, server_default=false()),
    UniqueConstraint("project_id", "test_key"),
    Index(None, "project_id", "status"),
    Index(None, "project_id", "version"),
    Index(None, "project_id", "updated_at"),
)

# What lists find and sort by: documents are too long to be read for that.
experiment_listings = Table(
    "experiment_listings",
    metadata,
    Column("experiment_id", ID, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("status", String, nullable=False),
    Column("name", SearchText, nullable=False),
    # The folded name, test key, names of goals, and tags, each on a line of its own.
    Column("words", SearchText, nullable=False),
    # Each on a line of its own, with an empty one before and after.
    Column("tags", SearchText, nullable=False),
    Column("owner", ID),
    Column("started_at", UtcDateTime),
    # Null where no shipped variant is shown to everybody.
    Column("rolled_out_at", UtcDateTime),
    Column("waits_for_review", Boolean, nullable=False, server_default=false()),
    Index(None, "project_id", "status"),
    Index(None, "project_id", "owner"),
    Index("ix_experiment_listings_project_id_rolled_out_at", "project_id", "rolled_out_at"),
)

# The verdict of each experiment's last report; the columns are what lists find and sort by.
kept_verdicts = Table(
    "kept_verdicts",
    metadata,
    Column("experiment_id", ID, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("verdict", String, nullable=False),
    Column("improvement", Float),
    Column("visitors", BigInteger, nullable=False),
    Column("progress", Float),
    Column("since", UtcDateTime, nullable=False),
    Column("document", JSON, nullable=False),
)

# The token of a link is stored as its digest alone.
share_links = Table(
    "share_links",
    metadata,
    Column("id", ID, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("experiment_id", ID, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("key_id", ID, ForeignKey("api_keys.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("shows_money", Boolean, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
)

metrics = Table(
    "metrics",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("document", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("project_id", "name"),
)

exclusion_groups = Table(
    "exclusion_groups",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("name", String, nullable=False),
    Column("document", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
    UniqueConstraint("project_id", "name"),
)

recorded_looks = Table(
    "recorded_looks",
    metadata,
    Column("id", ID, primary_key=True),
    Column("experiment_id", ID, ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("taken_at", UtcDateTime, nullable=False),
    Column("is_at_plan", Boolean, nullable=False),
    Column("document", JSON, nullable=False),
    Index(None, "experiment_id", "taken_at"),
    # Of several processes that reach the plan at once, one records the look.
    Index(
        "uq_recorded_looks_at_plan",
        "experiment_id",
        unique=True,
        info={"where": text("is_at_plan")},
    ),
)

# A row without a reply is a claim: the request is being answered, at most until the claim expires.
replies = Table(
    "replies",
    metadata,
    Column("account_id", ID, ForeignKey("accounts.id", ondelete="CASCADE"), primary_key=True),
    Column("key_digest", String(64), primary_key=True),
    Column("fingerprint", String(64), nullable=False),
    Column("claim_id", ID, nullable=False),
    Column("sealed", LargeBinary),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
)

runs = Table(
    "runs",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False),
    Column("kind", String, nullable=False),
    Column("trigger", String, nullable=False),
    Column("status", String, nullable=False, index=True),
    Column("run_key", SearchText),
    Column("parameters", JSON, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("ended_at", UtcDateTime),
    Column("attempts", Integer, nullable=False),
    Column("events", BigInteger),
    Column("visitors", BigInteger),
    Column("drift", JSON, nullable=False),
    Column("error", String),
    Column("progress", JSON, nullable=False),
    Column("result", JSON, nullable=False),
    UniqueConstraint("project_id", "run_key"),
    Index(None, "project_id", "created_at"),
)

job_records = Table(
    "job_records",
    metadata,
    Column("job", String(40), primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), primary_key=True),
    Column("period", String),
    Column("tries", Integer, nullable=False),
    Column("tried_at", UtcDateTime),
)

# Webhooks, and notification channels of other kinds: their `url` is the masked destination, and `secret` the
# encrypted one.
webhooks = Table(
    "webhooks",
    metadata,
    Column("id", ID, primary_key=True),
    Column("project_id", ID, ForeignKey("projects.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("kind", String, nullable=False, server_default=text("'webhook'")),
    Column("url", String, nullable=False),
    Column("description", String),
    Column("events", JSON, nullable=False),
    Column("secret", LargeBinary, nullable=False),
    Column("previous_secret", LargeBinary),
    Column("previous_secret_until", UtcDateTime),
    Column("disabled_reason", String),
    Column("digest_hour", Integer),
    Column("delivered_at", UtcDateTime),
    Column("created_at", UtcDateTime, nullable=False),
    Column("updated_at", UtcDateTime, nullable=False),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("id", ID, primary_key=True),
    Column("webhook_id", ID, ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("type", String, nullable=False),
    Column("content", String, nullable=False),
    Column("status", String, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("next_attempt_at", UtcDateTime, index=True),
    Column("ended_at", UtcDateTime),
    Column("response_status", Integer),
    Column("error", String),
    # Encrypted: the addresses of an e-mail that the mail server has accepted so far.
    Column("reached", LargeBinary),
    Index(None, "webhook_id", "created_at"),
)

announced_results = Table(
    "announced_results",
    metadata,
    Column("experiment_id", ID, ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("recommendation", String, nullable=False),
    Column("alarms", JSON, nullable=False),
    # Of notification channels; null until results were observed for them.
    Column("states", JSON),
)

# No foreign keys, since entries outlive the objects they are about.
audit = Table(
    "audit",
    metadata,
    Column("id", ID, primary_key=True),
    Column("at", UtcDateTime, nullable=False),
    Column("account_id", ID, nullable=False),
    Column("actor", String, nullable=False),
    Column("subject_id", ID, nullable=False),
    Column("changes", JSON, nullable=False),
    Index(None, "account_id", "at"),
    Index(None, "subject_id", "at"),
)
