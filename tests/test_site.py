"""The documentation builds as a site, strictly, and its pages ask no other host for anything."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site: a broken link, anchor or page without a place in the navigation fails the build."""
    folder = tmp_path_factory.mktemp("site")
    mkdocs = Path(sys.executable).with_name("mkdocs")
    built = subprocess.run(
        [mkdocs, "build", "-d", folder], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_of_the_documentation_is_in_the_site(site: Path) -> None:
    pages = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    assert len(pages) > 20
    built = [page.parent if page.name == "README.md" else page.with_suffix("") for page in pages]
    assert [page for page in built if not (site / page / "index.html").exists()] == []


def test_every_notebook_is_a_page_with_its_pictures(site: Path) -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert len(notebooks) > 8
    for path in notebooks:
        page = (site / "repository" / "notebooks" / path.stem / "index.html").read_text()
        assert 'src="data:image/' in page, path.stem
        assert ".ipynb" not in page.partition("<article")[2].partition("</article>")[0], path.stem


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    loaded = re.compile(
        r"""<(?:script|img|iframe)[^>]+src=["']?(?:https?:)?//|<link[^>]+(?:stylesheet|preconnect|icon)[^>]+//"""
    )
    assert [page.name for page in pages if loaded.search(page.read_text())] == []


def test_the_public_python_names_have_their_reference(site: Path) -> None:
    page = (site / "python" / "index.html").read_text()
    for name in ("analyze", "sample_size", "open_snapshot", "Client"):
        assert f'id="truelift.{name}"' in page


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("peeking", "glossary"),
        ("peeking", "calibration"),
        ("sample ratio mismatch", "health-checks"),
        ("sample ratio mismatch", "glossary"),
        ("confidence sequence", "concepts/sequential"),
        ("guardrail", "experiment-settings"),
        ("srm", "health-checks"),
    ],
)
def test_the_search_finds_the_words_of_the_field(site: Path, words: str, page: str) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    found = {one["location"].partition("#")[0].strip("/") for one in index if words in one["text"].lower()}
    assert page in found


def test_a_picture_is_shown_by_the_colour_scheme_of_the_page(site: Path) -> None:
    page = (site / "dashboard" / "index.html").read_text()
    for name in ("today.png#only-light", "today-dark.png#only-dark"):
        assert name in page
        assert (site / "pictures" / name.partition("#")[0]).is_file()


def test_every_page_of_the_dashboard_has_a_small_picture_in_both_schemes_that_is_used() -> None:
    pictures = runpy.run_path(str(ROOT / "docs" / "site" / "dashboard_pictures.py"))
    names = [one.name for one in pictures["PAGES"]]
    assert len(names) > 10
    files = {path.name: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}
    assert set(files) == {f"{name}{end}.png" for name in names for end in pictures["SCHEMES"].values()}
    # The byte after the size says how many colours there are: 3 is a palette.
    large = [name for name, found in files.items() if len(found) > pictures["MOST_BYTES"] or found[25] != 3]
    assert large == []
    text = "".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
    assert [name for name in names if f"pictures/{name}.png)" not in text] == []
