"""Messages between the owner of the store and its collectors."""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

Address: TypeAlias = tuple[str, int | None]
Headers: TypeAlias = list[tuple[bytes, bytes]]


class _Message(msgspec.Struct, array_like=True, tag=True):
    """A message about an exchange, which the collector numbers."""

    exchange_id: int


class Ready(msgspec.Struct, array_like=True, tag=True):
    """The collector takes connections."""


class Ping(msgspec.Struct, array_like=True, tag=True):
    """The owner asks whether the collector is alive."""


class Pong(msgspec.Struct, array_like=True, tag=True):
    """The collector is alive."""


class EventCall(_Message):
    """A request to charge a project and a browser's address, in the order of the fields, and to store.

    A request that is refused before its project is known is charged to its account instead.
    """

    project_id: str
    # Counts the request where it is given: the version of the catalog by which the project was read.
    version: int | None = None
    checks_room: bool = False
    address_key: int | None = None
    byte_count: int | None = None
    event_count: int | None = None
    rows: bytes | None = None
    # Size of the rows in memory, in bytes.
    size: int = 0


class Refusal(msgspec.Struct, array_like=True):
    """An error of the API."""

    code: str
    message: str
    headers: Mapping[str, str]


class EventAnswer(_Message):
    """The answer to an EventCall: done, unless it is refused, or stale by a newer version of the catalog."""

    # Limit, count, seconds left and whether it is exceeded.
    window: tuple[int, int, int, bool] | None = None
    refusal: Refusal | None = None
    stale_at: int | None = None


class ExposureCall(_Message):
    """The question which exposures do not count."""

    project_id: str
    rows: bytes


class ExposureAnswer(_Message):
    """Code and reason of each exposure that does not count, by its place."""

    excluded: Mapping[int, tuple[str, str]]
    refusal: Refusal | None = None


class RequestHead(_Message):
    """The head of a request that the owner answers."""

    method: str
    path: str
    raw_path: bytes
    query_string: bytes
    http_version: str
    scheme: str
    client: Address | None
    server: Address | None
    headers: Headers


class BodyWanted(_Message):
    """The owner waits for the next part of a body, or for the client to leave."""


class BodyPart(_Message):
    """A part of the body of a request."""

    body: bytes
    more_body: bool


class ClientLeft(_Message):
    """The client has closed its connection."""


class AnswerHead(_Message):
    """Status and headers of an answer."""

    status: int
    headers: Headers


class AnswerPart(_Message):
    """A part of the body of an answer; where more follows, the owner waits for PartSent."""

    body: bytes
    more_body: bool


class PartSent(_Message):
    """The client takes more."""


class AnswerFailed(_Message):
    """The owner could not end its answer."""


Message: TypeAlias = (
    Ready
    | Ping
    | Pong
    | EventCall
    | EventAnswer
    | ExposureCall
    | ExposureAnswer
    | RequestHead
    | BodyWanted
    | BodyPart
    | ClientLeft
    | AnswerHead
    | AnswerPart
    | PartSent
    | AnswerFailed
)
encode: Final = msgspec.msgpack.Encoder().encode
decode: Final = msgspec.msgpack.Decoder(list[Message]).decode
