"""Responses serialized in the thread of their endpoint."""

from fastapi import Response
from pydantic import BaseModel, TypeAdapter

from api.responses import as_response


class Item(BaseModel):
    name: str


def test_a_result_is_validated_and_serialized() -> None:
    answer = as_response({"name": "Shop"}, TypeAdapter(Item), 201, Response(headers={"X-Kind": "new"}))
    assert (answer.status_code, answer.body, answer.headers["x-kind"]) == (201, b'{"name":"Shop"}', "new")


def test_a_response_stays_as_it_is() -> None:
    answer = Response(b"a,b", media_type="text/csv")
    assert as_response(answer, None) is answer
