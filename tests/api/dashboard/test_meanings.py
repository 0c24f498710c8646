"""Page of what results say: the sections that results link to."""

from fastapi.testclient import TestClient

from engine.analysis.results.verdict_words import sections


def test_every_recommendation_reason_and_check_is_explained_once(browser: TestClient) -> None:
    page = browser.get("/verdicts").text
    assert sections()
    for code, sentences in sections().items():
        assert page.count(f'id="{code}"') == 1
        assert " ".join(sentences) in page.replace("&#39;", "'")
