"""Query of an import: its key, and the meaning of the file that is sent."""

import csv
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pipeline.imports.import_requests import FileOptions

Text = Annotated[str, Field(min_length=1, max_length=255)]


def _checked_names(names: str) -> str:
    """Return a list of names as it is; ValueError where one is empty, or it is no list in one line."""
    try:
        rows = list(csv.reader([names]))
    except csv.Error as error:
        raise ValueError("must be one line of names separated by commas") from error
    if [row for row in rows if not row or "" in row]:
        raise ValueError("has an empty name")
    return names


Names = Annotated[str, Field(min_length=1, max_length=8000), AfterValidator(_checked_names)]


class ImportQuery(BaseModel):
    """Key of an import, and the meaning of the file that is sent; a source says it itself."""

    model_config = ConfigDict(extra="forbid")

    file_name: Text | None = Field(None, description="Name of the file, for messages and the experiment.")
    variant: Text | None = Field(
        None, description="Column of the variant of visitors; without it each row is an event."
    )
    control: Text | None = Field(None, description="Name of the control.")
    goals: Names | None = Field(
        None,
        description="Columns of goals (1 or 0), or `column:revenue` for amounts, separated by commas; a name "
        "with a comma is quoted as in CSV.",
    )
    visitor: Text | None = Field(None, description="Column of the visitor's id.")
    timestamp: Text | None = Field(None, description="Column of the time, in UTC.")
    segments: Names | None = Field(
        None, description="Columns to filter results by, separated like those of goals."
    )
    unit: Text | None = Field(
        None, description="Column of what is compared instead of visitors, such as an account."
    )
    name: Text | None = Field(None, description="Name of the experiment; the file's by default.")
    running: bool = Field(
        default=False, description="The test goes on: judge it by its plan, and not as finished."
    )
    max_bad_share: float = Field(
        1.0, ge=0, le=1, description="Largest share of unusable rows with which the others are imported."
    )
    run_key: Text | None = Field(
        None, description="A key of your choice: with the same key the project has one run."
    )
    trigger: Literal["api", "command_line"] = Field(
        "api", description="What asks for the import, for its record."
    )

    @property
    def given_for_files(self) -> list[str]:
        """Parameters that were given and have no meaning for a source."""
        return sorted(self.model_fields_set - {"run_key", "trigger"})

    @property
    def options(self) -> FileOptions:
        """The meaning of the file, without what is about the run."""
        given = self.model_dump(exclude={"run_key", "trigger", "file_name", "goals", "segments"})
        return FileOptions(
            file_name=self.file_name or "file",
            goals=_listed(self.goals),
            segments=_listed(self.segments),
            **given,
        )


def _listed(names: str | None) -> tuple[str, ...]:
    return () if names is None else tuple(next(csv.reader([names])))
