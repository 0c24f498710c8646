"""Folder of an output: whole under its name, or not there."""

from pathlib import Path

import pytest

from pipeline.distributed.output import (
    MANIFEST,
    UnusableOutputError,
    new_output,
    read_output_manifest,
)


def fail_to_write(folder: Path) -> None:
    with new_output(folder, replace=True) as draft:
        (draft / MANIFEST).write_text("second")
        raise RuntimeError


def test_a_failure_leaves_the_former_output(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with new_output(folder, replace=False) as draft:
        (draft / MANIFEST).write_text("first")
    with pytest.raises(RuntimeError):
        fail_to_write(folder)
    assert (folder / MANIFEST).read_text() == "first"
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_an_output_is_replaced_only_on_request(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    for content in ("first", "second"):
        with new_output(folder, replace=True) as draft:
            (draft / MANIFEST).write_text(content)
        assert (folder / MANIFEST).read_text() == content
    with (
        pytest.raises(UnusableOutputError, match="replace it with --replace"),
        new_output(folder, replace=False),
    ):
        pass


def test_another_folder_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    with (
        pytest.raises(UnusableOutputError, match="it is no output of a rollup"),
        new_output(tmp_path / "letters", replace=True),
    ):
        pass


@pytest.mark.parametrize(("content", "said"), [(None, "no finished rollup"), ("{}", "no manifest")])
def test_an_unfinished_output_is_refused(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / MANIFEST).write_text(content)
    with pytest.raises(UnusableOutputError, match=said):
        read_output_manifest(tmp_path)
