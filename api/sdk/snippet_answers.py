"""Cacheable answers: conditional, compressed, and with a project's configuration built once a version."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

import msgspec
from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from api.results.entity_tags import is_none_match, weak_tag
from api.sdk.encoded_bodies import EncodedBodies, chosen_coding
from pipeline.assignment.browser_config import browser_config, facts_of, needs_facts
from pipeline.assignment.project_cache import CachedProject
from pipeline.events.attributes import Client

PUBLIC: Final = "public, max-age=60, stale-while-revalidate=60"
# With facts of the request, which no shared cache may give to others.
PRIVATE: Final = "private, max-age=60"
# Of facts that differ, so that an address that invents User-Agents takes no memory.
_MOST_FACTS: Final = 256

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of a project as JSON, by the facts of a request where it needs these."""

    content: dict[str, Any]
    is_private: bool
    _encoded: dict[tuple[Any, ...], bytes] = field(default_factory=dict)

    @property
    def cache_control(self) -> str:
        """The caches that may keep an answer with it."""
        return PRIVATE if self.is_private else PUBLIC

    def encoded(self, client: Client, city: str | None) -> bytes:
        """Return the JSON for a client."""
        facts = facts_of(client, city) if self.is_private else None
        key = tuple(facts.values()) if facts else ()
        if key not in self._encoded:
            if len(self._encoded) >= _MOST_FACTS:
                self._encoded.clear()
            self._encoded[key] = _encode({**self.content, "facts": facts})
        return self._encoded[key]


_Form: TypeAlias = tuple[str, bool, bool]
# By public key and form, as long as the version of the project is in use; requests that come while one is
# built wait for the same worker thread.
_configurations: Final[WeakKeyDictionary[CachedProject, dict[_Form, asyncio.Task[Configuration]]]] = (
    WeakKeyDictionary()
)


async def configuration_of(
    cached: CachedProject, sdk_key: str, *, with_definitions: bool = False, is_snippet: bool = False
) -> Configuration:
    """Return the configuration of a project for the holders of a key, as `browser_config` builds it.

    The snippet has a part that asks for the visitor's place in a holdout of the project.
    """
    known = _configurations.setdefault(cached, {})
    form = (sdk_key, with_definitions, is_snippet)
    task = known.get(form)
    if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
        task = known[form] = asyncio.create_task(_build(cached, form))
    # Others wait for it, too, when this request ends early.
    return await asyncio.shield(task)


async def _build(cached: CachedProject, form: _Form) -> Configuration:
    sdk_key, with_definitions, is_snippet = form
    content = await run_in_threadpool(
        browser_config,
        cached.project,
        (*cached.experiments, *cached.rollouts),
        sdk_key=sdk_key,
        with_definitions=with_definitions,
        holdouts=cached.holdouts,
        asks_for_place=is_snippet,
    )
    return Configuration(content, needs_facts(content))


async def cacheable(
    request: Request, content: bytes, bodies: EncodedBodies, *, media_type: str, headers: Mapping[str, str]
) -> Response:
    """Answer GET and HEAD with a content, or 304 where the client has it.

    The tag is weak, and so the same for each coding of a content. `headers` are added to both answers.
    """
    tag = weak_tag(content)
    headers = {"Vary": "Accept-Encoding", **headers, "ETag": tag}
    if not is_none_match(tag, request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    coding = chosen_coding(request.headers.get("accept-encoding", ""))
    body = await bodies.encoded(content, coding, is_shared=headers["Cache-Control"] != PRIVATE)
    if coding != "identity":
        headers["Content-Encoding"] = coding
    if request.method == "HEAD":
        return Response(headers={**headers, "Content-Length": str(len(body))}, media_type=media_type)
    return Response(body, headers=headers, media_type=media_type)
