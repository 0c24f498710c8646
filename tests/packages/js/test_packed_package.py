"""The packed package: its files, types and entries, and the decisions that it shares with the service."""

import json
import re
import subprocess
import tarfile
import tomllib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page

from api.sdk.assignment_vectors import check_answers
from engine.design.pages import covers_page
from engine.design.targeting.evaluation import compile_targeting
from pipeline.assignment.browser_config import browser_config
from pipeline.assignment.decide import AssignmentRequest, decide
from pipeline.assignment.targeting_attributes import Visitor, targeting_attributes
from pipeline.events.attributes import UNKNOWN_CLIENT
from tests.api.sdk.browser.site import Site, a_config, a_page
from tests.api.sdk.browser.site import an_experiment as a_described
from tests.builders import a_project, an_experiment
from tests.data.make_assignment_vectors import USUAL_TIME
from tests.packages.js.installed import FRAMEWORKS, NODE, SOURCES, Installed, documented, nodes
from tests.source_tree import ROOT

ENTRIES = ["", "/react", "/node", "/assignment"]
CONSUMER = """
import { createClient, type Variant } from "@truelift/js";
import { createClient as createServer } from "@truelift/js/node";
import { decide, murmur3 } from "@truelift/js/assignment";
import { createHooks, useVariant } from "@truelift/js/react";
import vectors from "@truelift/js/assignment_vectors.json" with { type: "json" };

interface Flags {
  checkout: { steps: number };
  banner: string;
}
const client = createClient<Flags>({ sdkKey: "pk", baseUrl: "https://ab.shop.example" });
const steps: number = client.value("checkout", { steps: 1 }).steps;
const banner: Variant<string> | null = client.variant("banner");
client.track("signup", { value: 1 });
client.revenue(4999, { currency: "EUR" });
const baseUrl = "https://ab.shop.example";
const server = createServer<Flags>({ apiKey: "k", projectId: "p", baseUrl });
const visitor = server.forVisitor("v1", { plan: "pro" }, { url: "https://shop.example/" });
const bootstrap = visitor.bootstrap();
createClient<Flags>({ sdkKey: "pk", baseUrl: "", bootstrap });
const { TrueliftProvider, useVariant: useTyped } = createHooks<Flags>();
const shown = () => useTyped("banner")?.payload ?? banner?.name;
export const Banner = () => TrueliftProvider({ client, children: shown() });
export const Any = () => useVariant<number>("anything")?.payload;
export const hashes: number[] = [murmur3("v1"), steps, vectors.cases.length];
export const indexes = decide({ schema: 1, experiments: [] }, { visitor_id: "v1" });
"""
MISTAKES = {
    'client.variant("chekout")': "TS2345",
    'client.value("banner", 1)': "TS2345",
    'client.value("checkout", { steps: "one" })': "TS2322",
    'useTyped("chekout")': "TS2345",
    'server.forVisitor("v1").peek("chekout")': "TS2345",
    "createClient({ sdkKey: 1, baseUrl: '' })": "TS2322",
}
COMPILER_OPTIONS = {
    "strict": True,
    "exactOptionalPropertyTypes": True,
    "noUncheckedIndexedAccess": True,
    "skipLibCheck": False,
    "noEmit": True,
    "target": "ES2022",
    "module": "NodeNext",
    "resolveJsonModule": True,
    "jsx": "react-jsx",
    "lib": ["ES2022", "DOM"],
    "types": [],
}


def compiled(package: Installed, **sources: str) -> str:
    """Compile modules of users, and return what the compiler says."""
    for name in ("@types/react", "csstype", "typescript"):
        package.add(SOURCES / "node_modules" / name, name)
    paths = []
    for name, source in sources.items():
        path = package.folder / name.replace("_", ".")
        path.write_text(source)
        paths.append(path.name)
    (package.folder / "tsconfig.json").write_text(
        json.dumps({"compilerOptions": COMPILER_OPTIONS, "files": paths})
    )
    compiler = SOURCES / "node_modules" / "typescript" / "bin" / "tsc"
    done = subprocess.run(
        [NODE, compiler, "-p", "."],
        cwd=package.folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


def paths_in(entry: str | dict[str, Any]) -> list[str]:
    return [entry] if isinstance(entry, str) else [path for one in entry.values() for path in paths_in(one)]


def test_package_has_what_it_exports_and_nothing_else(package: Installed) -> None:
    with tarfile.open(package.tarball) as tar:
        names = {name.removeprefix("package/") for name in tar.getnames()}
    described = json.loads((package.package / "package.json").read_text())
    exported = {
        path.removeprefix("./") for entry in described["exports"].values() for path in paths_in(entry)
    }
    assert exported <= names
    assert {name for name in names if not name.startswith("dist/")} == {
        "package.json",
        "README.md",
        "LICENSE",
    }
    assert {Path(name).suffix for name in names if name.startswith("dist/")} == {
        ".js",
        ".cjs",
        ".ts",
        ".cts",
        ".json",
    }
    assert "dependencies" not in described


def test_package_has_the_version_of_the_service(package: Installed) -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert json.loads((package.package / "package.json").read_text())["version"] == ours


def test_documented_sizes_are_the_most_that_the_build_lets_pass() -> None:
    build = (SOURCES / "build.mjs").read_text()
    most = {use: int(number) for use, number in re.findall(r'^  \["(.+?)", ([\d_]+),', build, re.MULTILINE)}
    page = (ROOT / "docs" / "javascript-client.md").read_text()
    sizes = re.findall(r"^\| `(@truelift/js\S*)` \| .+ \| ([\d,]+) \|$", page, re.MULTILINE)
    assert {name: int(size.replace(",", "")) for name, size in sizes} == {
        "@truelift/js": most["client of a page"],
        "@truelift/js/react": most["hook of React"],
        "@truelift/js/assignment": most["assignment with pages and targeting"],
    }


def test_uses_and_documentation_compile_strictly_and_mistakes_are_errors(package: Installed) -> None:
    common = """
      import { createClient } from "@truelift/js";
      export = createClient({ sdkKey: "pk", baseUrl: "" });
    """
    blocks = [f"{block}\nexport {{}};\n" for language in ("ts", "tsx") for block in documented(language)]
    assert len(blocks) == 5
    pages = {f"page{number}_tsx": block for number, block in enumerate(blocks)}
    mistaken = CONSUMER + "\n".join(MISTAKES)
    said = compiled(package, consumer_ts=CONSUMER, common_cts=common, mistaken_ts=mistaken, **pages)
    first = CONSUMER.count("\n") + 1
    errors = {
        line.split(",")[0]: line.split("error ")[1].split(":")[0]
        for line in said.splitlines()
        if "error TS" in line
    }
    assert errors == {
        f"mistaken.ts({first + number}": code for number, code in enumerate(MISTAKES.values())
    }, said


@pytest.mark.parametrize("node", nodes(), ids=lambda path: path.parent.parent.name)
def test_every_entry_is_imported_without_a_page(package: Installed, node: Path) -> None:
    for name in ("react", "react-dom"):
        package.add(FRAMEWORKS / name, name)
    modules = "".join(f'names.push(Object.keys(await import("@truelift/js{entry}")));' for entry in ENTRIES)
    found = package.run(f"const names = [];{modules}console.log(JSON.stringify(names))", node=node)
    common = "".join(f'names.push(Object.keys(require("@truelift/js{entry}")));' for entry in ENTRIES)
    again = package.run(
        f"const names = [];{common}console.log(JSON.stringify(names))", node=node, kind="commonjs"
    )
    assert [sorted(names) for names in found] == [sorted(names) for names in again]
    assert found == [
        ["createClient"],
        ["TrueliftProvider", "createHooks", "useTruelift", "useVariant"],
        ["createClient"],
        ["decide", "murmur3"],
    ]
    in_worker = """
      import { Worker } from "node:worker_threads";
      const code = `Promise.all([import("@truelift/js"), import("node:worker_threads")])
        .then(([js, { parentPort }]) => parentPort.postMessage(Object.keys(js)))`;
      new Worker(code, { eval: true }).on("message", (names) => console.log(JSON.stringify(names)));
    """
    assert package.run(in_worker, node=node) == ["createClient"]


def test_one_visitor_without_a_page_is_decided_and_counted(package: Installed, site: Site) -> None:
    rollout = {"id": "rol_000002", "experiment_id": "exp_000002", "status": "rollout"}
    site.config = a_config(a_described(), rollouts=[a_described(number=2) | rollout])
    script = """
      import { createClient } from "@truelift/js";
      const client = createClient({ sdkKey: "pk_test", baseUrl: given[0], visitorId: "v1" });
      let changes = 0;
      client.subscribe(() => changes++);
      const before = client.variant("test-1");
      await client.ready;
      const { index } = client.variant("test-1");
      // Of a rollout, which counts nobody.
      const { index: shipped, experimentId } = client.variant("test-2");
      const closed = await client.close(60_000);
      console.log(JSON.stringify({ before, index, shipped, experimentId, changes, closed }));
    """
    answer = package.run(script, site.service)
    shipped = {"shipped": 1, "experimentId": "exp_000002"}
    assert answer == {"before": None, "index": 1, **shipped, "changes": 1, "closed": True}
    (exposure,) = site.events("exposure")
    assert (exposure["visitor_id"], exposure.get("url")) == ("v1", None)


# Cases of the present, each by the one experiment that it is about.
ANSWERS = """JSON.stringify(vectors.cases.map((one) => {
  if ("first_seen" in one) return "skip";
  const config = vectors.configs[one.config];
  const experiments = config.experiments.filter(({ id }) => id === one.experiment);
  const stored = one.stored ? { [one.experiment]: one.stored } : {};
  const rollouts = config.rollouts.filter(({ experiment_id }) => experiment_id === one.experiment);
  const answers = decide({ ...config, experiments, rollouts }, one, stored, new Date(one.now ?? given[0]));
  return answers[one.experiment];
}))"""
NOW = USUAL_TIME.isoformat()


def check(answers: list[object]) -> None:
    outcomes = Counter(one.outcome for one in check_answers(json.dumps(answers).encode()))
    assert outcomes["different"] == 0
    assert outcomes["equal"] > 1900


@pytest.mark.parametrize("node", nodes(), ids=lambda path: path.parent.parent.name)
def test_published_vectors_hold_in_node(package: Installed, node: Path) -> None:
    script = f"""
      import {{ decide, murmur3 }} from "@truelift/js/assignment";
      import vectors from "@truelift/js/assignment_vectors.json" with {{ type: "json" }};
      for (const {{ input, seed, expected }} of vectors.contract.murmur3_x86_32)
        if (seed === 0 && murmur3(input) !== expected) throw new Error(input);
      console.log({ANSWERS});
    """
    check(package.run(script, NOW, node=node))


def test_published_vectors_hold_in_chromium(package: Installed, site: Site, page: Page) -> None:
    # In ASCII: the page names no charset.
    vectors = json.dumps(json.loads((package.package / "dist" / "assignment_vectors.json").read_text()))
    site.files = {f"/js/{name}": text for name, text in package.files.items()} | {
        "/cases.js": f"window.given = {json.dumps([NOW])}; window.vectors = {vectors};"
    }
    site.pages["/"] = a_page('<script src="/cases.js"></script>')
    page.goto(f"{site.base}/")
    check(json.loads(page.evaluate(f"import('/js/assignment.js').then(({{ decide }}) => {ANSWERS})")))


PLANS = {"field": "custom_dimension", "key": "plan", "operator": "equals", "values": ["pro"]}
RULES = [
    PLANS,
    {"field": "url", "operator": "exists"},
    {"field": "url", "operator": "not_contains", "values": ["/cart"]},
    {"field": "url", "operator": "regex", "values": ["shop.*cart$"]},
    {"field": "traffic_source", "operator": "equals", "values": ["direct"]},
    {"field": "utm_source", "operator": "exists"},
    {"field": "visitor_identity", "operator": "equals", "values": ["identified"]},
    {"field": "hour_of_day", "operator": "gte", "values": ["12"]},
]


ALL = """JSON.stringify(given.map(({ config, visit, stored, now }) =>
  decide(config, visit, stored, new Date(now))))"""


def test_visits_with_and_without_a_page_are_decided_as_by_the_service(package: Installed) -> None:
    random = Random(1)  # noqa: S311 - a draw of visits
    project = a_project(reporting_timezone="America/New_York")
    experiments = [
        an_experiment(
            id=f"exp_{number:06}",
            status="running",
            weights=(1, 2),
            traffic_allocation=80,
            targeting_rules={"version": 2, "root": {"operator": "and", "children": [rule]}},
        )
        for number, rule in enumerate(RULES)
    ]
    config = browser_config(project, experiments, sdk_key="pk")
    now = datetime(2026, 11, 20, 17, 30, tzinfo=UTC)
    cases, expected = [], []
    for number in range(120):
        url = random.choice([None, experiments[0].url, f"{experiments[0].url}?utm_source=mail"])
        attributes = random.choice([{}, {"plan": "pro"}, {"referrer": "https://news.example/"}])
        user_id = random.choice([None, "u1"])
        visitor = Visitor(
            visitor_id=f"v{number}", user_id=user_id, url=url, attributes=attributes, client=UNKNOWN_CLIENT
        )
        known = targeting_attributes(visitor, timezone=project.timezone, now=now)
        stored = {experiments[0].id: experiments[0].variants[0].id} if random.random() < 0.2 else {}
        request = AssignmentRequest(visitor=visitor, attributes=known, forced={})
        decisions = decide(
            request, experiments, lambda one: compile_targeting(one.targeting_rules), stored, ()
        )
        expected.append(
            {
                one.experiment.id: None
                if one.variant is None or (url and not covers_page(one.experiment, url))
                else one.experiment.variants.index(one.variant)
                for one in decisions
            }
        )
        visit = {"visitor_id": f"v{number}", "user_id": user_id, "attributes": attributes}
        cases.append(
            {
                "config": config,
                "visit": visit if url is None else {**visit, "url": url},
                "stored": stored,
                "now": now.isoformat(),
            }
        )
    script = f'import {{ decide }} from "@truelift/js/assignment";console.log({ALL})'
    assert package.run(script, *cases) == expected
