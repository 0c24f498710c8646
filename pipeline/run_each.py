"""How work on many things goes on where some of it fails: everything has its turn first."""

from collections.abc import Callable, Iterator, Mapping


def run_each(work: Mapping[str, Callable[[], object]]) -> None:
    """Do each piece of work, by the name of what it is about.

    Raises an ExceptionGroup of what went wrong at the end, each with the name as a note.
    """
    if failures := list(_failures(work)):
        raise ExceptionGroup(f"{len(failures)} of {len(work)} failed", failures)


def _failures(work: Mapping[str, Callable[[], object]]) -> Iterator[Exception]:
    for name, do in work.items():
        try:
            do()
        except Exception as error:  # noqa: BLE001 - raised with the others
            error.add_note(name)
            yield error
