from pipeline.imports import import_result
from pipeline.imports.import_result import Imported
from pipeline.sources.tables import BadRow


def test_numbers_of_chunks_add_up() -> None:
    total = Imported(rows=1, events=2, known_rows=3, known_events=4, returning_rows=5, rejected=6)
    assert total.plus(
        Imported(rows=10, events=20, known_rows=30, known_events=40, returning_rows=50)
    ) == Imported(rows=11, events=22, known_rows=33, known_events=44, returning_rows=55, rejected=6)


def test_all_rejected_rows_are_counted_and_the_first_kept() -> None:
    bad = [BadRow(line, "wrong") for line in range(import_result.MAX_BAD_ROWS - 1)]
    result = Imported().with_rejected(bad).with_rejected(bad)
    assert result.rejected == 2 * len(bad)
    assert result.bad_rows == (*bad, bad[0])
