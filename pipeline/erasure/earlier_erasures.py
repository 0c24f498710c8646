"""Texts that erasures of earlier versions left in completed experiments."""

from pipeline.erasure.night_texts import blank_nights
from pipeline.services import PipelineServices
from pipeline.store.warehouse import published
from pipeline.store.warehouse.erasure.erased_person import (
    ErasedPerson,
    are_earlier_blanked,
    note_earlier_blanked,
)
from pipeline.store.warehouse.erasure.segment_texts import (
    blank_kept_sums,
    blank_kept_values,
    texts_of_nobody,
)


def blank_earlier_erasures(services: PipelineServices) -> None:
    """Blank texts of completed experiments that no visitor has any more, nights included, once a store.

    Those versions removed the row of a person from them, and no text.
    """
    with services.warehouse.cursor() as cursor:
        if are_earlier_blanked(cursor):
            return
        records = published.find_all(cursor, published.list_experiments(services.warehouse))
    final = [one for one, record in records.items() if record.is_final]
    with (
        services.rollup.pause(),
        services.rollup.publications.replacing(final),
        services.warehouse.transaction() as cursor,
    ):
        for one in final:
            texts = texts_of_nobody(cursor, one)
            blank_kept_values(cursor, one, texts)
            blank_kept_sums(cursor, one, texts)
            left = ErasedPerson(project_id="", until=0, visitor_keys=(), user_keys=(), segments={one: texts})
            blank_nights(cursor, left)
        note_earlier_blanked(cursor)
