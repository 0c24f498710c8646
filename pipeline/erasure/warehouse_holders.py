"""Holders in the warehouse: its tables, column by column."""

from collections.abc import Callable, Sequence
from typing import Final

from pipeline.erasure.holder import Erasing, Holder, Text, columns
from pipeline.erasure.night_texts import blank_nights, count_nights
from pipeline.store.event_columns import DIMENSIONS, EVENT_DIMENSIONS
from pipeline.store.warehouse import extremes, published, segment_dimensions, visitors
from pipeline.store.warehouse.connection import Cursor
from pipeline.store.warehouse.erasure.erased_events import (
    count_links,
    list_events,
    remove_events,
    remove_links,
)
from pipeline.store.warehouse.erasure.erased_person import ErasedPerson
from pipeline.store.warehouse.erasure.segment_texts import (
    ERASED,
    blank_kept_sums,
    blank_kept_values,
    blank_unused_values,
    count_sums_of,
    count_values_of,
    release_rows,
)
from pipeline.store.warehouse.events import has_table
from pipeline.store.warehouse.segment_dimensions import CUSTOM

_EVER: Final = 2**62
_CODES: Final[dict[str, Text]] = dict.fromkeys((*DIMENSIONS, CUSTOM), "nothing")


def _remove_events(cursor: Cursor, erased: ErasedPerson) -> None:
    list_events(cursor, erased.project_id, erased.person, until=erased.until)
    remove_events(cursor, erased.project_id)


def _release_rows(cursor: Cursor, erased: ErasedPerson) -> None:
    for experiment_id in erased.sums_kept:
        release_rows(cursor, experiment_id, erased.person.all_keys)
    # Counted again by other days, they would lack the person.
    published.seal(cursor, erased.sums_kept)


def _blank_values(cursor: Cursor, erased: ErasedPerson) -> None:
    for experiment_id in erased.sums_kept:
        blank_kept_values(cursor, experiment_id, erased.segments[experiment_id])


def _blank_sums(cursor: Cursor, erased: ErasedPerson) -> None:
    for experiment_id in erased.sums_kept:
        blank_kept_sums(cursor, experiment_id, erased.segments[experiment_id])


def _blank_recounted(erasing: Erasing) -> None:
    for experiment_id in erasing.erased.recounted:
        with erasing.services.warehouse.transaction() as cursor:
            blank_unused_values(cursor, experiment_id)


def _reader(count: Callable[[Cursor, ErasedPerson], int]) -> Callable[[Erasing], int]:
    """Read back by a query; a project without a table of events has nothing."""

    def left(erasing: Erasing) -> int:
        with erasing.services.warehouse.cursor() as cursor:
            return count(cursor, erasing.erased) if has_table(cursor, erasing.project.id) else 0

    return left


def _events_left(cursor: Cursor, erased: ErasedPerson) -> int:
    return list_events(cursor, erased.project_id, erased.person, until=erased.until)


def _links_left(cursor: Cursor, erased: ErasedPerson) -> int:
    return count_links(cursor, erased.project_id, erased.person, until=erased.until)


def _counted_by(cursor: Cursor, erased: ErasedPerson) -> Sequence[str]:
    """List the experiments with a row of the person; of one who has returned, those that count nobody new."""
    if not erased.segments:
        return []
    newer = list_events(cursor, erased.project_id, erased.person, until=_EVER)
    return [one for one in erased.segments if not newer or one in erased.sums_kept]


def _rows_left(cursor: Cursor, erased: ErasedPerson) -> int:
    keys = erased.person.all_keys
    return sum(visitors.count_rows_of(cursor, one, keys) for one in _counted_by(cursor, erased))


def _extremes_left(cursor: Cursor, erased: ErasedPerson) -> int:
    keys = erased.person.all_keys
    return sum(extremes.count_rows_of(cursor, one, keys) for one in _counted_by(cursor, erased))


def _values_left(cursor: Cursor, erased: ErasedPerson) -> int:
    return sum(count_values_of(cursor, one, erased.segments[one]) for one in _counted_by(cursor, erased))


def _sums_left(cursor: Cursor, erased: ErasedPerson) -> int:
    return sum(count_sums_of(cursor, one, erased.segments[one]) for one in _counted_by(cursor, erased))


def _dropped_key_left(cursor: Cursor, erased: ErasedPerson) -> int:
    _, example = segment_dimensions.read_dropped(cursor, erased.project_id) or (0, None)
    return int(erased.is_stored and example not in {None, ERASED})


WAREHOUSE: Final = (
    Holder(
        name="raw events",
        medium="warehouse",
        where="events_*",
        texts=columns(
            visitor_id="visitor_id",
            user_id="user_id",
            key="visitor_key user_key",
            event="event_id event_key transaction_id transaction_key event_name selector value revenue_cents",
            url="url",
            attribute=" ".join((*EVENT_DIMENSIONS, CUSTOM)),
            address="address_key",
            nothing="seq received_at occurred_at type experiment_id variant_id goal_id currency is_refund "
            "is_bot sender not_counted header_fields",
        ),
        remove=_remove_events,
        left=_reader(_events_left),
    ),
    Holder(
        name="links of visitors and users",
        medium="warehouse",
        where="identity_links_of_events_*",
        texts=columns(key="visitor_key user_key", nothing="is_trusted is_same_id seq received_at"),
        remove=lambda cursor, erased: remove_links(cursor, erased.project_id, erased.person),
        left=_reader(_links_left),
    ),
    Holder(
        name="visitor rows",
        medium="warehouse",
        where="visitors_*",
        texts={
            **columns(
                key="visitor_key unit_key",
                address="address_key",
                nothing="variant first_exposed_at first_day exposure_sender money_senders g[0-9]*_*",
            ),
            **_CODES,
        },
        remove=_release_rows,
        left=_reader(_rows_left),
    ),
    Holder(
        name="orders on other days",
        medium="warehouse",
        where="orders_*",
        texts=columns(key="visitor_key", nothing="goal sum bucket from_day day cents"),
        # With those of visitors, which have the same keys.
        remove=_release_rows,
        left=_reader(_rows_left),
    ),
    Holder(
        name="largest visitors and busiest addresses",
        medium="warehouse",
        where="extremes_*",
        texts=columns(
            key="key", nothing="kind goal variant number senders size value denominator before is_all"
        ),
        # With the rows of visitors, which they are taken from.
        remove=_release_rows,
        left=_reader(_extremes_left),
    ),
    Holder(
        name="segment values",
        medium="warehouse",
        where="segment_values_*",
        texts=columns(attribute="value", nothing="dimension code"),
        remove=_blank_values,
        erase=_blank_recounted,
        left=_reader(_values_left),
    ),
    Holder(
        name="sums by segment",
        medium="warehouse",
        where="aggregates_*",
        texts=columns(
            attribute="value",
            nothing="dimension variant goal sum bucket day visitors conversions total cohort_conversions "
            "cohort_total cohort_squared cohort_cubed_high cohort_cubed_low",
        ),
        remove=_blank_sums,
        left=_reader(_sums_left),
    ),
    Holder(
        name="reports of past nights",
        medium="warehouse",
        where="kept_nights",
        texts=columns(document="content", nothing="experiment_id day"),
        remove=blank_nights,
        left=_reader(count_nights),
    ),
    Holder(
        name="interactions with other tests",
        medium="warehouse",
        where="kept_interactions",
        texts=columns(team="content", nothing="experiment_id"),
    ),
    Holder(
        name="last key that was dropped",
        medium="warehouse",
        where="dropped_custom_keys",
        texts=columns(attribute="example", nothing="project_id dropped"),
        remove=lambda cursor, erased: segment_dimensions.replace_dropped_example(
            cursor, erased.project_id, ERASED
        ),
        left=_reader(_dropped_key_left),
    ),
    Holder(
        name="erasures that have not ended",
        medium="warehouse",
        where="pending_erasures",
        texts=columns(document="content", nothing="project_id"),
        kept="removed at the end of the erasure; one that was killed is ended at the next start",
    ),
    Holder(
        name="keys of custom dimensions",
        medium="warehouse",
        where="custom_keys",
        texts=columns(team="key", nothing="project_id"),
    ),
    Holder(
        name="records of results",
        medium="warehouse",
        where="published_rollups",
        texts=columns(
            team="dimensions sums_from",
            nothing="experiment_id fingerprint rules covered_seq as_of last_exposed_at variants goals "
            "is_final sums_digest",
        ),
    ),
    *(
        Holder(name=name, medium="warehouse", where=table, texts=columns(nothing=names))
        for name, table, names in (
            (
                "products of values, counted outside",
                "products_*",
                "dimension value variant goal day product high low",
            ),
            ("numbers of late visits", "late_visits", "project_id experiment_id day visits"),
            ("numbers of visitors by minute", "visitor_minutes_*", "minute visitors converted"),
            ("experiments of these", "totalled_experiments", "project_id experiment_id primary_goal"),
            ("numbers of counted links", "covered_links", "project_id covered_seq"),
            ("digests of days", "event_digests", "project_id form covered_seq day events digest"),
            (
                "records of nightly counts",
                "nightly_counts",
                "project_id whole_at version rules checked_seq part",
            ),
            ("projects with older links", "links_without_events", "project_id"),
            ("numbers of removed events", "retired_event_seqs", "seq"),
            ("number of loaded events", "loaded_events", "seq"),
            ("mark of texts that were blanked", "earlier_erasures_blanked", "since"),
            ("id of the warehouse", "warehouse_identity", "id"),
        )
    ),
)
