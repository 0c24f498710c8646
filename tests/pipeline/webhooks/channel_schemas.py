"""Schemas of what Slack and Teams take, written from their documentation.

Slack: https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, and the limits of header,
section and context of https://docs.slack.dev/reference/block-kit/blocks. Teams: the request of
https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using, and the
elements of version 1.2 of https://adaptivecards.io/explorer/.
"""

from typing import Any

# Slack parses these three: text that is no mark-up has entities in their place.
_NO_MARKUP = r"^([^&<>]|&amp;|&lt;|&gt;)*$"


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required.split(),
        "additionalProperties": False,
    }


def _plain(most: int) -> dict[str, Any]:
    text = {"type": "string", "minLength": 1, "maxLength": most, "pattern": _NO_MARKUP}
    return _object("type text", type={"const": "plain_text"}, text=text, emoji={"type": "boolean"})


_BLOCK_ID = {"type": "string", "maxLength": 255}
_LINK = {"type": "string", "pattern": r"^<https?://[^<>|\s]+\|[^<>|]+>$"}
_MRKDWN = _object("type text", type={"const": "mrkdwn"}, text=_LINK, verbatim={"type": "boolean"})
_HEADER = _object("type text", type={"const": "header"}, block_id=_BLOCK_ID, text=_plain(150))
_SECTION = _object("type text", type={"const": "section"}, block_id=_BLOCK_ID, text=_plain(3000))
_CONTEXT = _object(
    "type elements",
    type={"const": "context"},
    elements={"type": "array", "items": _MRKDWN, "minItems": 1, "maxItems": 10},
)
SLACK = _object(
    "text blocks",
    text={"type": "string", "minLength": 1, "maxLength": 4000, "pattern": _NO_MARKUP},
    mrkdwn={"type": "boolean"},
    unfurl_links={"type": "boolean"},
    blocks={
        "type": "array",
        "items": {"oneOf": [_HEADER, _SECTION, _CONTEXT]},
        "minItems": 1,
        "maxItems": 50,
    },
)

_RUN = _object(
    "type text",
    type={"const": "TextRun"},
    text={"type": "string"},
    weight={"enum": ["Lighter", "Default", "Bolder"]},
    size={"enum": ["Small", "Default", "Medium", "Large", "ExtraLarge"]},
)
_RICH_TEXT = _object(
    "type inlines",
    type={"const": "RichTextBlock"},
    id={"type": "string"},
    inlines={"type": "array", "items": _RUN, "minItems": 1},
)
_ACTION = _object(
    "type url",
    type={"const": "Action.OpenUrl"},
    title={"type": "string"},
    url={"type": "string", "format": "uri"},
)
_CARD = _object(
    "type version body",
    **{"$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"}},
    type={"const": "AdaptiveCard"},
    version={"enum": ["1.2", "1.3", "1.4"]},
    body={"type": "array", "items": _RICH_TEXT, "minItems": 1},
    actions={"type": "array", "items": _ACTION, "maxItems": 6},
)
TEAMS = _object(
    "type attachments",
    type={"const": "message"},
    attachments={
        "type": "array",
        "minItems": 1,
        "maxItems": 1,
        "items": _object(
            "contentType content",
            contentType={"const": "application/vnd.microsoft.card.adaptive"},
            contentUrl={"type": "null"},
            content=_CARD,
        ),
    },
)
MOST_BYTES_OF_TEAMS = 28 * 1024
