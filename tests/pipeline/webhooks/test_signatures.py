"""Signatures of messages, verified by the reference library of the convention."""

from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from pipeline.webhooks.signatures import headers_of, new_secret

CONTENT = '{"type":"experiment.started","data":{"experiment_name":"Größe · 1"}}'.encode()


def test_a_signature_is_verified_by_the_library_of_the_convention() -> None:
    secret = new_secret()
    headers = headers_of("msg_1", CONTENT, [secret], now=datetime.now(UTC))
    assert Webhook(secret).verify(CONTENT, headers)["type"] == "experiment.started"


def test_another_content_id_or_secret_is_not_verified() -> None:
    secret = new_secret()
    headers = headers_of("msg_1", CONTENT, [secret], now=datetime.now(UTC))
    for verifying, content, sent in (
        (secret, CONTENT + b" ", headers),
        (secret, CONTENT, {**headers, "webhook-id": "msg_2"}),
        (new_secret(), CONTENT, headers),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(verifying).verify(content, sent)


def test_a_message_can_be_signed_by_two_secrets() -> None:
    former, secret = new_secret(), new_secret()
    headers = headers_of("msg_1", CONTENT, [secret, former], now=datetime.now(UTC))
    for one in (former, secret):
        Webhook(one).verify(CONTENT, headers)
    assert former != secret
