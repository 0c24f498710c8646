"""Forms of pages as a browser without scripts sends them."""

from html.parser import HTMLParser

import httpx2
from fastapi.testclient import TestClient


class FormFields(HTMLParser):
    """The fields of the form with that class, and the values that they would be sent with."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.action = ""
        self._name = name
        self._is_inside = False
        self._area: str | None = None
        self._select: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._is_inside = self._name in (given.get("class") or "").split()
            self.action = given.get("action") or "" if self._is_inside else self.action
        if not self._is_inside:
            return
        name, value = given.get("name"), given.get("value") or ""
        if tag == "option" and self._select and ("selected" in given or self._select not in self.fields):
            self.fields[self._select] = value
        self._select = name if tag == "select" else self._select
        if tag == "textarea" and name:
            self._area, self.fields[name] = name, ""
        is_box = given.get("type") in {"checkbox", "radio"}
        if tag == "input" and name and (not is_box or "checked" in given):
            self.fields[name] = value

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area:
            # The first line end of a text area is no part of it.
            self.fields[self._area] = self.fields[self._area].removeprefix("\n")
            self._area = None
        self._select = None if tag == "select" else self._select
        self._is_inside = self._is_inside and tag != "form"


def fields_of(page: httpx2.Response, name: str = "record") -> dict[str, str]:
    """The fields of a page's form of that class, with what it was shown with."""
    found = FormFields(name)
    found.feed(page.text)
    assert "form_token" in found.fields, page.text
    return found.fields


def send(
    browser: TestClient, page: httpx2.Response, typed: dict[str, str | None], name: str = "record"
) -> httpx2.Response:
    """Type into the form of a page and send it; None unchecks a box."""
    found = FormFields(name)
    found.feed(page.text)
    sent = {key: value for key, value in {**found.fields, **typed}.items() if value is not None}
    return browser.post(found.action, data=sent)
