"""Request bodies of events, split without pauses."""

from pipeline.events.body import EventBody, read_in_slices


def read_body(body: bytes, *, single: bool = False) -> EventBody:
    """Split a body into its events in one go; raises what `read_in_slices` raises."""
    steps = read_in_slices(body, single=single)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            read: EventBody = end.value
            return read
