"""Holders in the catalog: its tables, column by column."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import msgspec
from cryptography.fernet import Fernet, InvalidToken

from pipeline.encryption_key import open_cipher
from pipeline.erasure.blanking import Blanking
from pipeline.erasure.holder import Erasing, Holder, Text, columns
from pipeline.erasure.night_texts import DROPPED_KEYS
from pipeline.store.catalog.quoted_texts import blank_table, count_quoting
from pipeline.store.warehouse.erasure.segment_texts import ERASED

_QUOTED: Final = re.compile("(?<=').*(?=')")


def _blank_reply(cipher: Fernet, blanking: Blanking, sealed: bytes) -> bytes:
    """Blank the body of an encrypted reply; one that another key encrypted cannot be answered, either."""
    try:
        reply: dict[str, Any] = msgspec.msgpack.decode(cipher.decrypt(sealed))
    except InvalidToken:
        return sealed
    body = reply["body"].decode("utf-8", "surrogateescape")
    blanked = msgspec.json.encode(blanking.apply(msgspec.json.decode(body))) if body else b""
    if not body or blanked == msgspec.json.encode(msgspec.json.decode(body)):
        return sealed
    return cipher.encrypt(msgspec.msgpack.encode({**reply, "body": blanked}))


def _blank_verdict(blanking: Blanking, verdict: dict[str, Any]) -> dict[str, Any]:
    """Blank the texts, and the key of an attribute that was dropped, of whichever visitor."""
    blanked: dict[str, Any] = blanking.apply(verdict)
    checks = [
        {**check, "message": _QUOTED.sub(ERASED, check["message"])}
        if check["check"] == DROPPED_KEYS
        else check
        for check in blanked["open_checks"]
    ]
    return {**blanked, "open_checks": checks}


def _blank_of(erasing: Erasing, table: str) -> Callable[[Any], Any]:
    blanking = Blanking(erasing.erased.texts)
    if table == "replies":
        return partial(_blank_reply, open_cipher(erasing.services.settings), blanking)
    if table == "kept_verdicts" and erasing.erased.is_stored:
        return partial(_blank_verdict, blanking)
    return blanking.apply


def _quoting(name: str, table: str, texts: dict[str, Text]) -> Holder:
    def erase(erasing: Erasing) -> None:
        database = erasing.services.catalog.database
        # Not with the request, whose transaction ends after the erasure.
        with database.apart():
            blank_table(database, table, erasing.project, _blank_of(erasing, table))

    def left(erasing: Erasing) -> int:
        database = erasing.services.catalog.database
        return count_quoting(database, table, erasing.project, _blank_of(erasing, table))

    return Holder(name=name, medium="catalog", where=table, texts=texts, erase=erase, left=left)


CATALOG: Final = (
    _quoting(
        "runs, with rejected rows of imports",
        "runs",
        columns(
            document="parameters progress result error",
            team="run_key",
            nothing="id project_id kind trigger status created_at started_at ended_at attempts events "
            "visitors drift",
        ),
    ),
    _quoting(
        "messages to webhooks",
        "webhook_deliveries",
        columns(
            document="content error",
            encrypted="reached",
            nothing="id webhook_id type status attempts created_at next_attempt_at ended_at response_status",
        ),
    ),
    _quoting(
        "stored replies to idempotent requests",
        "replies",
        columns(
            document="sealed", encrypted="fingerprint key_digest", nothing="account_id claim_id expires_at"
        ),
    ),
    _quoting(
        "verdicts that lists show",
        "kept_verdicts",
        columns(document="document", nothing="experiment_id verdict improvement visitors progress since"),
    ),
    *(
        Holder(name=name, medium="catalog", where=table, texts=texts)
        for name, table, texts in (
            (
                "audit trail",
                "audit",
                columns(team="changes actor", nothing="id at account_id subject_id"),
            ),
            (
                "experiments",
                "experiments",
                columns(
                    team="document test_key",
                    nothing="id project_id status created_at updated_at version payload_bytes is_holdout",
                ),
            ),
            (
                "what lists find experiments by",
                "experiment_listings",
                columns(
                    team="name words tags",
                    nothing="experiment_id project_id status owner started_at rolled_out_at waits_for_review",
                ),
            ),
            (
                "metrics",
                "metrics",
                columns(team="document name", nothing="id project_id created_at updated_at"),
            ),
            (
                "exclusion groups",
                "exclusion_groups",
                columns(team="document name", nothing="id project_id created_at updated_at"),
            ),
            (
                "projects",
                "projects",
                columns(
                    team="document",
                    nothing="id account_id sdk_key created_at updated_at warehouse_id experiments_version",
                ),
            ),
            ("replaced public keys", "previous_sdk_keys", columns(nothing="sdk_key project_id")),
            (
                "recorded looks",
                "recorded_looks",
                columns(nothing="id experiment_id taken_at is_at_plan document"),
            ),
            ("records of jobs", "job_records", columns(nothing="job project_id period tries tried_at")),
            (
                "results that were announced",
                "announced_results",
                columns(nothing="experiment_id recommendation alarms states"),
            ),
            (
                "webhooks",
                "webhooks",
                columns(
                    team="url description",
                    encrypted="secret previous_secret",
                    nothing="id project_id kind events previous_secret_until disabled_reason digest_hour "
                    "delivered_at created_at updated_at",
                ),
            ),
            (
                "accounts",
                "accounts",
                columns(
                    team="name slug",
                    nothing="id plan subscription_status max_projects_override rate_limit_override "
                    "created_at",
                ),
            ),
            (
                "members",
                "members",
                columns(team="name email_address", nothing="id account_id role accepted_at created_at"),
            ),
            (
                "API keys",
                "api_keys",
                columns(
                    team="name",
                    encrypted="token_id digest key_prefix",
                    nothing="id account_id member_id environment scopes project_ids last_used_at revoked_at "
                    "created_at",
                ),
            ),
            (
                "sessions of the dashboard",
                "sessions",
                columns(encrypted="digest token", nothing="key_id created_at used_at"),
            ),
            ("links to sign in", "sign_in_links", columns(encrypted="digest token", nothing="created_at")),
            (
                "share links",
                "share_links",
                columns(
                    encrypted="digest",
                    nothing="id project_id experiment_id key_id shows_money created_at expires_at revoked_at",
                ),
            ),
            (
                "warehouses of the catalog",
                "warehouses",
                columns(nothing="id folder is_confirmed host pid since"),
            ),
        )
    ),
)
