import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.store.catalog.tokens import digest_of, matches, new_token, token_id_of


def test_token_has_four_parts_and_a_secret_of_32_bytes() -> None:
    token = new_token("live")
    kind, environment, token_id, secret = token.text.split("_")
    assert (kind, environment, token_id) == ("svc", "live", token.token_id)
    assert len(bytes.fromhex(secret)) == 32


def test_prefix_shows_everything_but_the_secret() -> None:
    token = new_token("test")
    assert token.prefix == f"svc_test_{token.token_id}"


def test_two_tokens_share_nothing() -> None:
    first, second = new_token("live"), new_token("live")
    assert first.token_id != second.token_id
    assert first.digest != second.digest


def test_token_matches_its_own_digest_only() -> None:
    token, other = new_token("live"), new_token("live")
    assert matches(token.text, token.digest)
    assert not matches(token.text, other.digest)


def test_environment_is_part_of_what_is_recognised() -> None:
    token = new_token("live")
    assert not matches(token.text.replace("svc_live_", "svc_test_"), token.digest)


def test_nothing_matches_where_no_digest_is_kept() -> None:
    assert not matches("", None)
    assert not matches(new_token("live").text, None)


@given(st.text())
def test_any_text_has_a_digest_and_a_token_id(text: str) -> None:
    assert len(digest_of(text)) == 64
    assert "_" not in token_id_of(text)


@pytest.mark.parametrize("token_id", ["", "a\x00b", "a b", "é", "\ud800", "a'--"])
def test_token_id_of_other_characters_is_looked_up_as_none(token_id: str) -> None:
    assert token_id_of(f"svc_live_{token_id}_secret") == ""
