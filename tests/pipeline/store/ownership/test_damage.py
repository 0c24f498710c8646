from pipeline.store.ownership.damage import DamagedStoreError


def test_the_sentence_of_a_damage_ends_with_the_ways_out() -> None:
    error = DamagedStoreError("the log is missing")
    assert error.problem == "the log is missing"
    assert str(error).startswith("the log is missing: put the missing file back")
    assert "truelift check" in str(error)
