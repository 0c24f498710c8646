"""Forms of messages: valid by the documentation of each service, and without mark-up of names."""

import json
from datetime import UTC, datetime
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from pipeline.webhooks.channel_formats import mail_of, slack_payload, teams_payload
from tests.pipeline.webhooks.channel_schemas import MOST_BYTES_OF_TEAMS, SLACK, TEAMS

LINK = "https://truelift.example/projects/prj_1/experiments/exp_1"
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
MARK_UP = "<!channel> <https://evil.example|Click> *b* & [x](https://evil.example) <at>all</at> {{DATE(x)}}"


def told(title: str = "Checkout: decision ready", *paragraphs: str) -> dict[str, Any]:
    return {"title": title, "paragraphs": paragraphs, "project_name": "Shop"}


@pytest.mark.parametrize(
    "data",
    [
        told(),
        told("Checkout: decision ready", "A variant wins.", "Ship it."),
        told(MARK_UP, MARK_UP),
        told("&" * 400, *["<" * 5000] * 3),
        told("Übergrößenträger 🛒\r\nBcc: eve@evil.example", "Zeile\r\n.\r\nRCPT TO:<eve@evil.example>"),
    ],
    ids=["title", "usual", "mark-up", "long", "line-breaks"],
)
def test_every_form_is_valid_and_carries_the_id(data: dict[str, Any]) -> None:
    slack, teams = slack_payload("msg_1", data, LINK), teams_payload("msg_1", data, LINK)
    Draft202012Validator(SLACK).validate(slack)
    Draft202012Validator(TEAMS).validate(teams)
    assert len(json.dumps(teams).encode()) <= MOST_BYTES_OF_TEAMS
    card = teams["attachments"][0]["content"]
    assert (slack["blocks"][0]["block_id"], card["body"][0]["id"]) == ("msg_1", "msg_1")
    assert (slack["blocks"][-1]["elements"][0]["text"], card["actions"][0]["url"]) == (
        f"<{LINK}|Open in Truelift>",
        LINK,
    )


def test_names_are_shown_as_they_are_by_teams_and_escaped_for_slack() -> None:
    run = teams_payload("msg_1", told(MARK_UP), LINK)["attachments"][0]["content"]["body"][0]["inlines"][0]
    assert (run["type"], run["text"]) == ("TextRun", MARK_UP)
    text = slack_payload("msg_1", told("<!channel> & 'x'"), LINK)["text"]
    assert text == "&lt;!channel&gt; &amp; 'x'"


def test_a_mail_has_one_header_each_and_the_same_id_and_date_at_every_attempt() -> None:
    name = "Checkout\r\nBcc: eve@evil.example\r\n\r\nHi"
    first, again = (
        mail_of("msg_1", told(name, "Grüße"), LINK, sender="truelift@shop.example", at=AT).as_bytes()
        for _ in range(2)
    )
    assert first == again
    assert first.isascii()
    mail = message_from_bytes(first, policy=default)
    assert mail["Bcc"] is None
    assert mail["Subject"] == "Checkout Bcc: eve@evil.example Hi"
    assert mail["Message-ID"] == "<msg_1@shop.example>"
    assert (mail["To"], mail["Auto-Submitted"]) == ("undisclosed-recipients:;", "auto-generated")
    assert mail["Date"].datetime == AT
    text = mail.get_content()
    assert mail.get_content_type() == "text/plain"
    assert "Grüße" in text
    assert LINK in text
