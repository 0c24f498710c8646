"""Pages of the site from the notebooks: their text, code and outputs as they are kept."""

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "repository/notebooks"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page of each notebook."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"{FOLDER}/{path.stem}.md", content=page_of(path)))
    return files


def page_of(path: Path) -> str:
    """Write a notebook as Markdown; its links to other notebooks are to their pages."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    parts = (part for cell in cells for part in _parts(cell))
    return "\n\n".join(parts).replace(".ipynb)", ".md)") + "\n"


def _parts(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: dict[str, Any]) -> str:
    """Write an output: printed text, a picture that has no name of the page's in it, a table, or text."""
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = {kind: "".join(text) if isinstance(text, list) else text for kind, text in output["data"].items()}
    if svg := data.get("image/svg+xml"):
        return f'<img alt="A chart" src="data:image/svg+xml,{quote(svg)}">'
    if png := data.get("image/png"):
        return f'<img alt="A chart" src="data:image/png;base64,{png.strip()}">'
    if html := data.get("text/html"):
        lines = "\n".join(line.strip() for line in html.splitlines() if line.strip())
        return f'<div class="notebook-output">\n{lines}\n</div>'
    return f"<pre>{escape(data['text/plain'])}</pre>"
