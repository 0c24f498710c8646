"""The example of docs/concepts/assignment.md runs, and gives the variants of the service."""

import re
from pathlib import Path
from typing import Any

from tests.truelift.client.conftest import RunningExperiment
from truelift.client.client import Client

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "assignment.md"


def test_the_variants_of_logs_are_those_that_visitors_were_given(experiment: RunningExperiment) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    places = {
        "https://ab.shop.example": experiment.url,
        "prj_…": experiment.project_id,
        "tl_…": experiment.key,
        "one-page-checkout": experiment.test_key,
        '["v_1", "v_2", "v_3"]': "[f'v_{n}' for n in range(40)]",
    }
    for shown, own in places.items():
        assert shown in code
        code = code.replace(shown, own)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - our own page
    found = dict(names["visits"].iter_rows())
    with Client(experiment.url, **experiment.connection) as client:
        assert client.wait_until_ready(60)
        assert found == {one: client.decide(experiment.test_key, one).variant for one in found}
    assert len(set(found.values())) == 2
