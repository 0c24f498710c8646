"""Command `vectors`: the published assignment vectors, and the check of an implementation by them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from api.cli.console import CommandError, out, print_json, print_records
from api.cli.options import AsJson

_SHOWN = 5


def vectors(
    answers: Annotated[
        Path | None,
        typer.Argument(help="JSON array with an answer to each case; - reads it from standard input."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the assignment vectors; or compare the answers of your own implementation with them."""
    from api.sdk.assignment_vectors import FILE, UnreadableAnswersError, by_group, check_answers

    if answers is None:
        # Without the terminal's own line ends.
        sys.stdout.buffer.write(FILE.read_bytes())
        return
    try:
        content = sys.stdin.buffer.read() if str(answers) == "-" else answers.read_bytes()
        checked = check_answers(content)
    except (OSError, UnreadableAnswersError) as error:
        raise CommandError(str(error)) from error
    different = [one for one in checked if one.outcome == "different"]
    if as_json:
        found = [{**one.case, "answer": one.answer} for one in different]
        print_json({"groups": [*by_group(checked)], "different": found})
    else:
        print_records([*by_group(checked)])
        for one in different[:_SHOWN]:
            why = f" ({one.case['why']})" if "why" in one.case else ""
            text = f"case {one.case['case']}: answered {one.answer!r}, not {one.case['expected']!r}{why}"
            out.print(text, soft_wrap=True, highlight=False)
    if different:
        raise typer.Exit(1)
