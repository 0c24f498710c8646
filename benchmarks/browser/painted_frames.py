"""Frames that show the original before the variant: on a page, a slow one, a route, and before a redirect.

Each frame that Chromium has painted is looked at. Ours, GrowthBook's script with its anti-flicker
style, and the bare page are loaded in turn, by new visitors; one server has all scripts and configurations.
"""

import json
import statistics
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from playwright.sync_api import Browser

from benchmarks.browser.page_load import (
    DRAFT,
    FEATURES,
    GREEN,
    USER_AGENT,
    answered,
    chromium,
    growthbook_files,
    growthbook_tag,
    snippet,
)
from benchmarks.service.serving import served
from benchmarks.service.sites import a_site, serve_site

LOADS = 5
PAGE = """<!doctype html><html><head><title>Shop</title>{head}
<style>h1 {{ background: {color} }}</style></head><body><h1>Buy now</h1>{text}</body></html>"""
RED = "rgb(255, 0, 0)"
# Kept for the next page, too.
WATCH = """
globalThis.painted = JSON.parse(sessionStorage.getItem("painted") ?? "[]");
globalThis.began = Number(sessionStorage.getItem("began")) || performance.timeOrigin;
sessionStorage.setItem("began", began);
const look = () => {
  const heading = document.querySelector("h1");
  const style = getComputedStyle(document.documentElement);
  if (heading && style.opacity !== "0" && style.visibility !== "hidden") {
    const time = performance.timeOrigin + performance.now() - began;
    painted.push([time, getComputedStyle(heading).backgroundColor]);
    sessionStorage.setItem("painted", JSON.stringify(painted));
  }
};
// Once all that the page does for a frame is done, and it has been painted.
const after = new MessageChannel();
after.port1.onmessage = look;
const next = () => {
  after.port2.postMessage(0);
  requestAnimationFrame(next);
};
requestAnimationFrame(next);
"""
ROUTE = """() => {
  painted.length = 0;
  began = performance.timeOrigin + performance.now();
  history.pushState(null, "", "/route");
  document.querySelector("h1").outerHTML = "<h1>Route</h1>";
}"""
# A redirect goes to a page whose heading is green.
REDIRECT: Mapping[str, Any] = {
    "type": "redirect",
    "url": "/from",
    "url_match_type": "exact",
    "variants": [
        {"name": "Here", "is_control": True, "weight": 0},
        {
            "name": "There",
            "weight": 1,
            "changes": [{"selector": "html", "action": "replace", "value": "/to"}],
        },
    ],
}


@dataclass(frozen=True, slots=True)
class Scene:
    """A page that is opened, and under which conditions."""

    path: str
    experiment: str = "page"
    slowdown: int = 1
    delay_ms: int = 0
    is_route: bool = False


SCENES = {
    "page": Scene("/page"),
    "processor at a quarter": Scene("/page", slowdown=4),
    "script 0.5 s late": Scene("/page", delay_ms=500),
    "script 2 s late, beyond the timeout": Scene("/page", delay_ms=2000),
    "route of a single-page application": Scene("/start", experiment="route", is_route=True),
    "redirect": Scene("/from", experiment="redirect"),
}
EXPERIMENTS: Mapping[str, Mapping[str, Any]] = {
    "page": {**DRAFT, "url": "/page", "url_match_type": "exact"},
    "route": {**DRAFT, "url": "/route", "url_match_type": "exact"},
    "redirect": REDIRECT,
}


def run() -> list[dict[str, Any]]:
    """Load every scene by each script in turn; the time of the variant is to the bare page's first frame."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = growthbook_files(folder)
        tags = {name: our_tag(folder, name, files) for name in EXPERIMENTS}
        port = stack.enter_context(answered(files))
        for name in EXPERIMENTS:
            files[f"/{name}/api/features/sdk-1"] = ("application/json", growthbook_features(name, port))
            files[f"/{name}/auto.min.js"] = files["/auto.min.js"]
        browser = stack.enter_context(chromium())
        rows = []
        for name, scene in SCENES.items():
            host = f"http://127.0.0.1:{port}/d{scene.delay_ms}/{scene.experiment}"
            heads = {
                "bare": "",
                "ours": tags[scene.experiment].replace("BASE", host),
                "GrowthBook": growthbook_tag(host, 'data-anti-flicker="true"'),
            }
            seen = loads_of(browser, scene, port, files, heads)
            bare = statistics.median(frames[0][0] for frames in seen.pop("bare"))
            rows += [row(name, page, loads, bare) for page, loads in seen.items()]
        return rows


def loads_of(
    browser: Browser, scene: Scene, port: int, files: dict[str, Any], heads: Mapping[str, str]
) -> dict[str, list[list[Any]]]:
    """Load a scene by each script in turn; returns the frames of each load."""
    seen: dict[str, list[list[Any]]] = {page: [] for page in heads}
    for _ in range(LOADS):
        for page, head in heads.items():
            files[scene.path] = document(head, RED)
            files["/to"] = document(head, GREEN)
            seen[page].append(frames_of(browser, f"http://localhost:{port}", scene))
    return seen


def row(scene: str, page: str, loads: list[list[Any]], bare: float) -> dict[str, Any]:
    """Lay out the frames before the variant, and its time."""
    originals, times = [], []
    for frames in loads:
        greens = [time for time, color in frames if color == GREEN]
        originals.append(sum(color != GREEN and (not greens or time < greens[0]) for time, color in frames))
        times += greens[:1]
    shown = f"{len(times)} of {len(loads)}"
    return {
        "scene": scene,
        "script": page,
        "variant shown": shown,
        "frames of the original before it": f"{statistics.median(originals):.0f}" if times else "all",
        "most": max(originals) if times else "",
        "variant / first frame of the bare page": f"{statistics.median(times) / bare:.2f}" if times else "",
    }


def frames_of(browser: Browser, base: str, scene: Scene) -> list[Any]:
    """Open a scene as a new visitor; returns the time and the color of each frame."""
    context = browser.new_context(user_agent=USER_AGENT)
    try:
        page = context.new_page()
        session = context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": scene.slowdown})
        page.add_init_script(WATCH)
        page.goto(f"{base}{scene.path}", wait_until="networkidle")
        if scene.is_route:
            page.evaluate(ROUTE)
        page.wait_for_timeout(1000)
        frames: list[Any] = page.evaluate("painted")
    finally:
        context.close()
    return frames


def our_tag(folder: Path, name: str, files: dict[str, tuple[str, bytes]]) -> str:
    """Take the markup and the script of an experiment from a service; its address in the markup is BASE."""
    site = a_site(folder / name, EXPERIMENTS[name])
    with served(serve_site, site.data_dir) as port:
        markup = snippet(port, site.project_id, site.token)
        script = httpx2.get(f"http://127.0.0.1:{port}/sdk/v1/{site.sdk_key}.js").content
    files[f"/{name}/sdk/v1/{site.sdk_key}.js"] = ("text/javascript", script)
    return markup.replace(f"http://127.0.0.1:{port}", "BASE")


def growthbook_features(name: str, port: int) -> bytes:
    """Render the same experiment for GrowthBook's script."""
    (experiment,) = FEATURES["experiments"]
    pages = [{"include": True, "type": "simple", "pattern": EXPERIMENTS[name]["url"]}]
    redirected = {"variations": [{}, {"urlRedirect": f"http://localhost:{port}/to"}]}
    own = {**experiment, "urlPatterns": pages, **(redirected if name == "redirect" else {})}
    return json.dumps({**FEATURES, "experiments": [own]}).encode()


def document(head: str, color: str) -> tuple[str, bytes]:
    """Render a page."""
    return "text/html", PAGE.format(head=head, color=color, text="<p>text</p>" * 400).encode()
