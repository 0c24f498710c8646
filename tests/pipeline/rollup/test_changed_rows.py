import polars as pl

from pipeline.rollup.changed_rows import VisitorRows, changed_rows


def visitors(*rows: tuple[int, int, int | None]) -> pl.DataFrame:
    schema = {"experiment": pl.UInt16, "visitor_key": pl.UInt64, "g0_cents": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_only_rows_that_differ_are_removed_and_added() -> None:
    former = VisitorRows(visitors((0, 1, 5), (0, 2, None), (1, 1, 5), (0, 3, 0)), visitors())
    counted = VisitorRows(visitors((0, 1, 5), (0, 2, 7), (1, 1, 5), (1, 4, 0)), visitors())
    removed, added = changed_rows(former, counted)
    assert sorted(removed.visitors.rows(), key=str) == [(0, 2, None), (0, 3, 0)]
    assert sorted(added.visitors.rows()) == [(0, 2, 7), (1, 4, 0)]


def test_a_visitor_whose_orders_differ_is_replaced_with_all_rows() -> None:
    former = VisitorRows(visitors((0, 1, 5), (0, 2, 5)), visitors((0, 1, 2), (0, 1, 3)))
    counted = VisitorRows(visitors((0, 1, 5), (0, 2, 5)), visitors((0, 1, 3), (0, 1, 4)))
    removed, added = changed_rows(former, counted)
    assert (removed.visitors.rows(), removed.orders.rows()) == ([(0, 1, 5)], [(0, 1, 2), (0, 1, 3)])
    assert (added.visitors.rows(), added.orders.rows()) == ([(0, 1, 5)], [(0, 1, 3), (0, 1, 4)])


def test_columns_of_goals_that_an_experiment_lacks_make_no_difference() -> None:
    one = visitors((0, 1, 5))
    wide = one.with_columns(g1_cents=pl.lit(None, pl.Int64))
    removed, added = changed_rows(VisitorRows(wide, visitors()), VisitorRows(wide, visitors()))
    assert (removed.visitors.height, added.visitors.height) == (0, 0)
