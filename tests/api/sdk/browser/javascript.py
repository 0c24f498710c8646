"""The script's modules that need no page, in a process of Node that answers one JSON line a call."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

SOURCES = Path(__file__).parents[4] / "api" / "sdk" / "browser"
NODE = Path(sys.executable).with_name("node")
# Calls by name; the targeting part without the page: cookies and the time are given.
SCRIPT = """
import { createInterface } from "node:readline";
import { assignVariant, variantOnPage } from "./assignment.js";
import { createEligibility } from "./eligibility.js";
import { isOutsideSlots } from "./exclusion_slots.js";
import { murmur3 } from "./hash.js";
import { coversPage } from "./pages.js";
import { redirectUrl } from "./redirects.js";
import { unitId } from "./units.js";
import { isUnsettled } from "./unsettled.js";

const partsOf = (config, cookie, now) =>
  createEligibility(config, () => cookie, () => new Date(now));
const CALLS = {
  murmur3,
  assign: (experiment, ids) => ids.map((id) => assignVariant(experiment, id)),
  covers: (config, url) =>
    config.experiments.map((one) => coversPage(one, url, partsOf(config).matchesAutomaton)),
  redirect: redirectUrl,
  href: (url) => new URL(url).href,
  decide: (config, visit, stored, cookie, now) =>
    config.experiments.map((one) => {
      const unit = one.unit ? unitId(one.unit, visit) : visit.visitor_id;
      return variantOnPage(one, visit, unit, stored[one.id], partsOf(config, cookie, now));
    }),
  vector: (config, visit, stored, now) => {
    const [one] = config.experiments;
    const unit = one.unit ? unitId(one.unit, visit) : visit.visitor_id;
    let asks = false;
    const isExcluded = (...given) => isOutsideSlots(...given) || (asks = isUnsettled(...given));
    const parts = { ...partsOf(config, "", now), isExcluded };
    const index = variantOnPage(one, visit, unit, stored, parts);
    return asks ? "ask" : index;
  },
  units: (unit, visits) => visits.map((visit) => unitId(unit, visit)),
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...given] = JSON.parse(line);
  let answer;
  try {
    answer = { value: CALLS[name](...given) ?? null };
  } catch (error) {
    answer = { error: String(error.stack) };
  }
  console.log(JSON.stringify(answer));
}
"""


class JavaScript:
    """Calls into the script's modules."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def call(self, name: str, *given: object) -> Any:
        """Call a function with JSON, and return its JSON."""
        requests, answers = cast("IO[str]", self._process.stdin), cast("IO[str]", self._process.stdout)
        requests.write(json.dumps([name, *given]) + "\n")
        requests.flush()
        answer = json.loads(answers.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]


@contextmanager
def javascript() -> Iterator[JavaScript]:
    """Run Node as long as calls are made."""
    command = [str(NODE), "--input-type=module", "--eval", SCRIPT]
    with subprocess.Popen(
        command, cwd=SOURCES, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield JavaScript(process)
        process.stdin.close() if process.stdin else None
