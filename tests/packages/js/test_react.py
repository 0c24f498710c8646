"""React 18 and 19: pages of a server are hydrated as they are, and each variant is exposed once."""

import json
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.api.sdk.browser.site import KEY, Site, a_config, a_page, an_experiment
from tests.packages.js.installed import FRAMEWORKS, SOURCES, Installed
from tests.waiting import wait_until

VERSIONS = {"react18": "react-dom18", "react19": "react-dom"}
APP = """
import { TrueliftProvider, createHooks, useVariant } from "@truelift/js/react";
import { StrictMode, createElement as h, useState } from "react";

const typed = createHooks();
const Checkout = () => {
  const variant = useVariant("test-1");
  return h("h1", null, variant ? `${variant.name}: ${variant.payload.steps}` : "Original");
};
const Banner = () => h("p", null, typed.useVariant("test-2")?.index ?? "none");
export const Page = ({ client }) => {
  const [isOpen, open] = useState(false);
  return h(StrictMode, null, h(TrueliftProvider, { client },
    h(Checkout), h("button", { onClick: () => open(!isOpen) }, "More"), isOpen ? h(Banner) : null));
};
"""
IN_BROWSER = """
import { createClient } from "@truelift/js";
import { createElement as h } from "react";
import { hydrateRoot } from "react-dom/client";
import { Page } from "./app.js";

window.failures = [];
console.error = (...message) => failures.push(message.join(" "));
window.served = root.querySelector("h1");
window.client = createClient(options);
hydrateRoot(root, h(Page, { client }), { onRecoverableError: (error) => failures.push(`${error}`) });
"""
ON_SERVER = """
import { readFileSync } from "node:fs";
import { createClient } from "@truelift/js/node";
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { Page } from "./app.js";

const [options] = JSON.parse(readFileSync("given.json", "utf8"));
const client = createClient({ ...options, apiKey: "key", projectId: "prj_1" });
await client.ready;
const visitor = client.forVisitor("visitor-of-the-server");
const html = renderToString(h(Page, { client: visitor }));
console.log(JSON.stringify({ html, bootstrap: visitor.bootstrap(), closed: await client.close() }));
"""
BUILD = """
import { writeFile } from "node:fs/promises";
const [esbuild, react, dom, name] = given;
const { build } = await import(esbuild);
const common = {
  bundle: true, logLevel: "error", define: { "process.env.NODE_ENV": '"development"' },
  alias: { react, "react-dom": dom }, absWorkingDir: process.cwd(),
};
await build({ ...common, entryPoints: ["in_browser.js"], format: "iife", outfile: `${name}.js` });
await build({
  ...common, entryPoints: ["on_server.js"], format: "esm", platform: "node", outfile: `${name}.mjs`,
  banner: { js: `import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);` },
});
"""


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest, package: Installed) -> str:
    """Bundles of the page, for the browser and for the server, with one version of React."""
    name = str(request.param)
    for module, source in (("app", APP), ("in_browser", IN_BROWSER), ("on_server", ON_SERVER)):
        (package.folder / f"{module}.js").write_text(source)
    react = name if name == "react18" else "react"
    esbuild = SOURCES / "node_modules" / "esbuild" / "lib" / "main.js"
    package.run(BUILD, str(esbuild), str(FRAMEWORKS / react), str(FRAMEWORKS / VERSIONS[name]), name)
    return name


def a_flag(**fields: Any) -> dict[str, Any]:
    experiment = an_experiment(**fields)
    # The server knows a name, which the public does not.
    experiment["definition"] = {"variants": [{"name": "Secret"}, {"name": "Secret"}]}
    experiment["variants"][1] |= {"name": "One page", "payload": {"steps": 1}}
    return experiment


def hydrate(site: Site, page: Page, package: Installed, version: str, html: str, **options: Any) -> None:
    options = {"sdkKey": KEY, "baseUrl": site.service, **options}
    site.files["/app.js"] = (package.folder / f"{version}.js").read_text()
    scripts = f'<script>window.options = {json.dumps(options)}</script><script src="/app.js"></script>'
    site.pages["/"] = a_page(f'<div id="root">{html}</div>{scripts}')
    page.goto(f"{site.base}/")


def test_page_of_a_server_is_hydrated_with_the_variant_that_it_shows(
    site: Site, page: Page, package: Installed, version: str
) -> None:
    site.config = a_config(a_flag(), an_experiment(number=2))
    server = f'await import("{package.folder}/{version}.mjs");'
    served = package.run(server, {"baseUrl": site.service})
    assert "<h1>One page: 1</h1>" in served["html"]
    assert served["closed"] is True
    # The server that renders a page does not know whether anybody sees it.
    assert site.events("exposure") == []
    hydrate(site, page, package, version, served["html"], bootstrap=served["bootstrap"])
    assert page.text_content("h1") == "One page: 1"
    wait_until(lambda: len(site.events("exposure")) == 1)
    page.click("button")
    wait_until(lambda: page.text_content("p") == "1")
    page.click("button")
    page.click("button")
    wait_until(lambda: len(site.events("exposure")) == 2)
    page.evaluate("client.close()")
    assert [event["experiment_id"] for event in site.events("exposure")] == ["exp_000001", "exp_000002"]
    assert {event["visitor_id"] for event in site.received} == {"visitor-of-the-server"}
    assert page.evaluate("served === root.querySelector('h1')")
    assert page.evaluate("failures") == []


def test_page_without_bootstrap_is_hydrated_with_the_original_and_then_changes(
    site: Site, page: Page, package: Installed, version: str
) -> None:
    site.config = a_config(a_flag())
    hydrate(site, page, package, version, "<h1>Original</h1><button>More</button>")
    wait_until(lambda: page.text_content("h1") == "One page: 1")
    wait_until(lambda: len(site.events("exposure")) == 1)
    page.evaluate("client.consent(false)")
    wait_until(lambda: page.text_content("h1") == "Original")
    assert page.evaluate("served === root.querySelector('h1')")
    assert page.evaluate("failures") == []
