"""Array types, and records of arrays that index, broadcast and combine as arrays do."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArrayRecord:
    """Base of records whose fields are arrays with common axes, or such records themselves.

    Each operation applies NumPy's of the same name to every field.
    """

    @classmethod
    def full(cls, shape: tuple[int, ...], value: float) -> Self:
        """Fill every field with `value`; for records of float arrays."""
        return cls._of_fields([np.full(shape, value) for _ in fields(cls)])

    @classmethod
    def concatenate(cls, records: Sequence[Self]) -> Self:
        """Join records along their first axis."""
        return cls.combine(np.concatenate, records)

    @classmethod
    def stack(cls, records: Sequence[Self], axis: int = 0) -> Self:
        """Join records of one shape along a new axis."""
        return cls.combine(lambda arrays: np.stack(arrays, axis=axis), records)

    @classmethod
    def where(cls, condition: BoolArray, first: Self, second: Self) -> Self:
        """Take the cells of `first` where the condition holds, and of `second` elsewhere."""
        return cls.combine(lambda arrays: np.where(condition, *arrays), [first, second])

    def __getitem__(self, key: Any) -> Self:  # noqa: ANN401  # any index of an array
        """Take the cells that `key` picks from an array."""
        return self.rearranged(lambda array: np.asarray(array[key]))

    def __setitem__(self, key: Any, values: Self) -> None:  # noqa: ANN401  # any index of an array
        """Overwrite, in place, the cells that `key` picks from an array."""
        for field in fields(self):
            getattr(self, field.name)[key] = getattr(values, field.name)

    def broadcast_to(self, shape: tuple[int, ...]) -> Self:
        """Repeat the cells to fill a larger shape, without a copy."""
        return self.rearranged(lambda array: np.broadcast_to(array, shape))

    def map(self, function: Callable[[AnyArray], AnyArray]) -> Self:
        """Apply a function to every field."""
        return self.combine(lambda arrays: function(arrays[0]), [self])

    @classmethod
    def combine(cls, function: Callable[[Sequence[AnyArray]], AnyArray], records: Sequence[Self]) -> Self:
        """Apply a function to the arrays that each field has in the records, field by field."""
        columns = [[getattr(record, field.name) for record in records] for field in fields(cls)]
        return cls._of_fields(
            [
                column[0].combine(function, column)
                if isinstance(column[0], ArrayRecord)
                else function(column)
                for column in columns
            ]
        )

    def rearranged(self, function: Callable[[AnyArray], AnyArray]) -> Self:
        """Apply a function that only picks or repeats cells, so that what was valid is not checked again."""
        record = object.__new__(type(self))
        for name in self.__dataclass_fields__:
            part = getattr(self, name)
            is_record = isinstance(part, ArrayRecord)
            object.__setattr__(record, name, part.rearranged(function) if is_record else function(part))
        return record

    @classmethod
    def _of_fields(cls, values: Sequence[Any]) -> Self:
        by_name = {field.name: value for field, value in zip(fields(cls), values, strict=True)}
        return cast("Callable[..., Self]", cls)(**by_name)
