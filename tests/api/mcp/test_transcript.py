"""The conversation in the documentation is one that was had."""

from pathlib import Path

import pytest

from tests.api.mcp.transcript import had, written


@pytest.mark.long(seconds=16)
def test_the_page_has_the_conversation_of_the_official_client_with_the_demo(tmp_path: Path) -> None:
    assert "should_we_ship" in written()
    assert written() == had(tmp_path / "demo"), "write it anew: python -m tests.api.mcp.transcript"
