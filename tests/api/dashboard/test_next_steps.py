"""Words of next steps, which name the variant."""

from typing import Any

import pytest

from api.dashboard.next_steps import next_step


@pytest.mark.parametrize(
    ("verdict", "variant", "control", "words"),
    [
        ("ship", "Green button", "Blue button", "Ship “Green button”"),
        ("rollback", "Green button", "Blue button", "Roll back, keep “Blue button”"),
        ("no_difference", None, "Blue button", "End, keep “Blue button”"),
        ("review", "Green button", "Blue button", "Decide"),
        ("keep_running", "Green button", "Blue button", "Decide"),
        ("ship", None, "Blue button", "Decide"),
        ("ship", "x" * 255, "Blue button", f"Ship “{'x' * 39}…”"),
    ],
)
def test_a_step_names_the_variant_that_visitors_get(
    verdict: Any, variant: str | None, control: str | None, words: str
) -> None:
    assert next_step(verdict, variant, control) == words
