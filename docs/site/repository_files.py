"""Pages of the site from files outside docs/: SECURITY.md, the benchmarks, the recipes and others."""

import posixpath
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "repository"
PAGES: Final = (
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "benchmarks/README.md",
    "data/sample/README.md",
)
RECIPES: Final = ("*.py", "*.js", "*.conf", "*.sh", "*.crontab", "*.yml", "*.toml", "*.sql", "*.md")
# A link to a file; not to an address, and not within its page.
LINK: Final = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages, and the recipes that pages link to."""
    recipes = [path for pattern in RECIPES for path in (ROOT / "recipes").rglob(pattern)]
    for path in [*(ROOT / page for page in PAGES), *recipes]:
        files.append(
            File.generated(config, f"{FOLDER}/{path.relative_to(ROOT).as_posix()}", abs_src_path=str(path))
        )
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point the links of a page at where their files stand on the site."""
    del config, files
    here = page.file.src_uri
    folder = posixpath.dirname(_in_repository(here))

    def point(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        return "](" + posixpath.relpath(_on_site(target), posixpath.dirname(here) or ".")

    return LINK.sub(point, markdown)


def _in_repository(page: str) -> str:
    outside = page.removeprefix(FOLDER + "/")
    return outside if outside != page else f"docs/{page}"


def _on_site(path: str) -> str:
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{FOLDER}/{path}"
