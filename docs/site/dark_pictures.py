"""Dark pictures of the site, which stand in for light ones by the colour scheme of the page."""

import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

DOCS: Final = Path(__file__).parents[1]
PICTURE: Final = re.compile(r"!\[([^\]]*)\]\(((?:\.\./)*pictures/([\w-]+))\.png\)")


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Add the dark pictures of a page; the theme shows one of two by the ends of their addresses."""
    del page, config, files

    def both(found: re.Match[str]) -> str:
        if not (DOCS / "pictures" / f"{found[3]}-dark.png").is_file():
            return found[0]
        return f"![{found[1]}]({found[2]}.png#only-light)![{found[1]}]({found[2]}-dark.png#only-dark)"

    return PICTURE.sub(both, markdown)
