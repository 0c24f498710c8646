"""The browser script knows the attributes that the server knows."""

from api.sdk.known_attributes import SOURCE
from api.sdk.script_files import FOLDER


def test_the_committed_names_are_those_of_the_table() -> None:
    committed = (FOLDER.parent / "known_attributes.js").read_text()
    assert committed == SOURCE, "run 'make snippet' and commit api/sdk/browser"
