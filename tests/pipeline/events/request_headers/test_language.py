import pytest

from pipeline.events.request_headers.language import language_tag, preferred_language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, None),
        ("", None),
        ("*", None),
        ("de-AT", "de-AT"),
        ("de-AT,de;q=0.9,en;q=0.8", "de-AT"),
        ("en;q=0.8, fr , de;q=0.9", "fr"),
        ("en;q=0.5,fr;q=0.5", "en"),
        ("en;q=0", None),
        ("en;q=nonsense,fr;q=0.1", "fr"),
        ("en;q=nan", None),
        ("a" * 100_000 + ",fr", "fr"),
        ("<script>,zh-Hant-TW;q=0.1", "zh-Hant-TW"),
        ("ZH-hant-tw", "zh-Hant-TW"),
    ],
)
def test_language_is_the_one_that_the_browser_prefers(header: str | None, language: str | None) -> None:
    assert preferred_language(header) == language


@pytest.mark.parametrize(
    ("stated", "stored"), [(None, None), ("EN-us", "en-US"), ("sl-rozaj", "sl-rozaj"), ("Suomi!", "Suomi!")]
)
def test_what_a_sender_states_is_stored_in_the_case_of_tags(stated: str | None, stored: str | None) -> None:
    assert language_tag(stated) == stored
