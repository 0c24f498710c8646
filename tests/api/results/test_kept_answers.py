"""Kept answers: bounded in bytes, and of one version."""

from dataclasses import replace

from api.results.kept_answers import EncodedAnswer, KeptAnswers, Question
from tests.pipeline.results.versions import VERSION


def a_question(number: int = 0, *, experiment_id: str = "exp_1") -> Question:
    return Question(experiment_id, "get_results", str(number))


def an_answer(size: int = 10) -> EncodedAnswer:
    return EncodedAnswer(b"x" * size, 'W/"x"')


def test_an_answer_is_kept_for_its_question_and_version() -> None:
    kept, answer = KeptAnswers(10_000), an_answer()
    kept.keep(a_question(), VERSION, answer)
    assert kept.find(a_question(), VERSION) is answer
    assert kept.find(a_question(1), VERSION) is None
    assert kept.find(a_question(), replace(VERSION, newest_seq=2)) is None
    # It is not found again: what it was true of is over.
    assert kept.find(a_question(), VERSION) is None
    assert kept.bytes_kept == 0


def test_what_was_not_read_for_longest_is_dropped_once_there_are_too_many_bytes() -> None:
    kept = KeptAnswers(3 * 10_000)
    for number in range(2):
        kept.keep(a_question(number), VERSION, an_answer(8_000))
    assert kept.find(a_question(0), VERSION)
    for number in range(2, 4):
        kept.keep(a_question(number), VERSION, an_answer(8_000))
        assert kept.bytes_kept <= 30_000
    assert [bool(kept.find(a_question(number), VERSION)) for number in range(4)] == [
        True,
        False,
        True,
        True,
    ]


def test_an_answer_that_is_larger_than_the_bound_is_not_kept() -> None:
    kept = KeptAnswers(0)
    kept.keep(a_question(), VERSION, an_answer())
    assert (kept.find(a_question(), VERSION), kept.bytes_kept) == (None, 0)


def test_answers_about_an_experiment_can_be_forgotten() -> None:
    kept = KeptAnswers(10_000)
    for experiment_id in ("exp_1", "exp_2"):
        kept.keep(a_question(experiment_id=experiment_id), VERSION, an_answer())
    kept.forget(["exp_1", "exp_3"])
    assert kept.find(a_question(), VERSION) is None
    assert kept.find(a_question(experiment_id="exp_2"), VERSION) is not None
