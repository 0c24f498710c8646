"""Work on many items that goes on after failures."""

from collections.abc import Callable, Iterator, Mapping


def run_each(work: Mapping[str, Callable[[], object]]) -> None:
    """Run every function, by the name of its item.

    Raises an ExceptionGroup of all failures at the end, each with the name as a note.
    """
    if failures := list(_failures(work)):
        raise ExceptionGroup(f"{len(failures)} of {len(work)} failed", failures)


def _failures(work: Mapping[str, Callable[[], object]]) -> Iterator[Exception]:
    for name, function in work.items():
        try:
            function()
        except Exception as error:  # noqa: BLE001 - raised with the others
            error.add_note(name)
            yield error
