"""Forms of a channel's message: Slack's blocks, an Adaptive Card of Teams, and an e-mail.

Texts are of the team, so none of them is mark-up anywhere. Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
and https://docs.slack.dev/reference/block-kit/blocks. Teams: https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
and https://adaptivecards.io/explorer/.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Final

# Of Slack's header, of its section and of its message; the most that Teams takes is 28 KB a card.
_HEADER_LENGTH: Final = 150
_SECTION_LENGTH: Final = 3000
_SUBJECT_LENGTH: Final = 200
_SLACK_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_BROKEN_ENTITY: Final = re.compile(r"&[a-z]*\Z")
_LINK_WORDS: Final = "Open in Truelift"


def slack_payload(message_id: str, data: Mapping[str, Any], link: str) -> dict[str, Any]:
    """Return the body of a request to an incoming webhook of Slack; the id is that of its first block."""
    title, text = _slack_text(data["title"], _HEADER_LENGTH), "\n".join(data["paragraphs"])
    told = [_section(_slack_text(text, _SECTION_LENGTH))] if text else []
    return {
        "text": title,
        "mrkdwn": False,
        "unfurl_links": False,
        "blocks": [
            {
                "type": "header",
                "block_id": message_id,
                "text": {"type": "plain_text", "text": title, "emoji": False},
            },
            *told,
            {
                "type": "context",
                "elements": [{"type": "mrkdwn", "text": f"<{link}|{_LINK_WORDS}>", "verbatim": True}],
            },
        ],
    }


def teams_payload(message_id: str, data: Mapping[str, Any], link: str) -> dict[str, Any]:
    """Return the body of a request to a workflow of Teams; the id is that of the card's first element."""
    texts = [_cut(one, _SECTION_LENGTH) for one in (data["title"], *data["paragraphs"])]
    # Runs of text, unlike text blocks, know no Markdown, no mentions and no functions.
    title, *told = [{"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": one}]} for one in texts]
    title["id"] = message_id
    title["inlines"][0] |= {"weight": "Bolder", "size": "Medium"}  # type: ignore[index,operator] # built above
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": [title, *told],
        "actions": [{"type": "Action.OpenUrl", "title": _LINK_WORDS, "url": link}],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    return {"type": "message", "attachments": [attachment]}


def mail_of(
    message_id: str, data: Mapping[str, Any], link: str, *, sender: str, at: datetime
) -> EmailMessage:
    """Return an e-mail of plain text to undisclosed recipients, the same one at each attempt."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = f"Truelift <{sender}>"
    mail["To"] = "undisclosed-recipients:;"
    mail["Subject"] = _cut(_on_one_line(data["title"]), _SUBJECT_LENGTH)
    mail["Date"] = format_datetime(at)
    mail["Message-ID"] = f"<{message_id}@{sender.rpartition('@')[2]}>"
    # So that no absence notice is sent in return: RFC 3834, section 5.
    mail["Auto-Submitted"] = "auto-generated"
    why = f"You get this since your address is in a notification channel of {data['project_name']}."
    told = (data["title"], *data["paragraphs"], link, f"-- \n{why}")
    mail.set_content("\n\n".join(told) + "\n", cte="quoted-printable")
    return mail


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _slack_text(text: str, most: int) -> str:
    """Escape the three characters that Slack parses, and cut what is too long, but no entity."""
    escaped = "".join(_SLACK_ENTITIES.get(character, character) for character in text)
    return escaped if len(escaped) <= most else _BROKEN_ENTITY.sub("", escaped[: most - 1]) + "…"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
