"""The browser's walk of automata: it finds what the server finds, in one step a character."""

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.design.patterns.automaton import Automaton
from engine.design.patterns.automaton import compile_pattern as compile_automaton
from engine.validation.patterns import compile_pattern

ROOT = Path(__file__).parents[4]
NODE = Path(sys.executable).with_name("node")
SCRIPT = """
import { finds } from "./api/sdk/browser/automaton.js";
import { readFileSync } from "node:fs";
const cases = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(cases.map(([automaton, texts]) => texts.map((text) => finds(automaton, text)))));
"""
STEPS = """
import { finds } from "./api/sdk/browser/automaton.js";
import { readFileSync } from "node:fs";
const [automaton, text] = JSON.parse(readFileSync(0, "utf8"));
let steps = 0;
const table = new Proxy(automaton.table, { get: (cells, at) => { steps += 1; return cells[at]; } });
finds({ ...automaton, table }, text);
console.log(steps);
"""
PATTERNS = [
    *(r"(a+)+$", r"^(a|a)*$", r".*.*.*=x", r"^https://shop\.example/product/\d+(\?.*)?$", r"\bsale\b"),
    *(r"\Bé", r"[^/]+/checkout", "a{2,4}b?", "[é-ü]+$", "😀.", r"^\s*$", r"\D\S\W", "[^a]", "", "^", "$"),
]
# Halves of surrogate pairs stand apart: side by side, JSON makes them a character.
LETTERS = [
    *"aab=x/1é😀ü \n\r\u2028\u00a0",
    "sale",
    "shop.example/product/",
    "/checkout",
    "\ud83d-",
    "\ude00-",
]


def run(script: str, given: object) -> object:
    """Run a module with JSON as its input, and return the JSON that it prints."""
    command = [str(NODE), "--input-type=module", "--eval", script]
    ran = subprocess.run(
        command, cwd=ROOT, input=json.dumps(given), capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(ran.stdout)


def automata(patterns: Sequence[str]) -> list[Automaton]:
    found = [compile_automaton(pattern).automaton for pattern in patterns]
    assert None not in found
    return [one for one in found if one is not None]


def test_the_walk_finds_what_re2_finds() -> None:
    draws = random.Random(7)  # noqa: S311 - texts of a test
    texts = ["".join(draws.choices(LETTERS, k=draws.randrange(9))) for _ in range(400)]
    found = run(SCRIPT, [[one.as_json(), texts] for one in automata(PATTERNS)])
    assert found == [[compile_pattern(pattern)(text) for text in texts] for pattern in PATTERNS]


def test_a_pattern_that_hangs_a_backtracking_engine_takes_one_step_a_character() -> None:
    hanging = automata(["(a+)+$", "^(a|a)*$", ".*.*.*=x"])
    assert [run(STEPS, [one.as_json(), "a" * 2047 + "!"]) for one in hanging] == [2048] * 3
