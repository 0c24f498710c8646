from pipeline.assignment.coverage import Coverage


def read(coverage: Coverage) -> None:
    coverage.read = coverage.reasons


def test_everything_is_read_at_first() -> None:
    coverage = Coverage()
    assert (coverage.is_complete, coverage.is_certain, coverage.after_seq) == (False, False, 0)
    read(coverage)
    assert coverage.is_certain


def test_what_was_fed_is_not_read_again() -> None:
    coverage = Coverage()
    read(coverage)
    coverage.require_read(70)
    assert (coverage.is_complete, coverage.after_seq) == (False, 70)
    coverage.require_read(90)
    assert coverage.after_seq == 70


def test_a_bulk_write_is_missing_from_its_first_number_on_until_it_is_read() -> None:
    coverage = Coverage()
    read(coverage)
    coverage.begin_bulk(51)
    # Its events are not acknowledged yet, so that a look-up may do without them, but no file.
    assert (coverage.is_complete, coverage.is_certain, coverage.after_seq) == (True, False, 50)
    coverage.end_bulk()
    assert (coverage.is_complete, coverage.after_seq) == (False, 50)
    read(coverage)
    assert coverage.is_certain


def test_a_bulk_write_that_ends_during_a_read_is_read_next() -> None:
    coverage = Coverage()
    read(coverage)
    coverage.begin_bulk(11)
    coverage.begin_bulk(31)
    coverage.end_bulk()
    reasons = coverage.reasons
    coverage.end_bulk()
    coverage.read = reasons
    assert (coverage.is_complete, coverage.after_seq) == (False, 10)
