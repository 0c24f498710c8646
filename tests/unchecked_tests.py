"""Tests that may check nothing: all of their checks are in loops over something computed."""

import ast
import re
from collections.abc import Iterator
from typing import Final

# Calls that check something.
_CHECK: Final = re.compile(r"(^|\.)(raises|warns|assert_\w+|error_of|refused|expect|require_\w+)$")
# Calls that have as many rounds as their first argument, as the shortest, or as any of several.
_AS_MANY: Final = {"enumerate", "sorted", "reversed", "set", "list", "tuple"}


def loops_over_nothing(tree: ast.Module) -> Iterator[int]:
    """Yield the line of each test whose checks are all in loops that may have no rounds."""
    for test in ast.walk(tree):
        if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef) and test.name.startswith("test"):
            given = {
                target.id
                for node in ast.walk(test)
                if isinstance(node, ast.Assign) and is_filled(node.value, set())
                for target in node.targets
                if isinstance(target, ast.Name)
            }
            checks = [in_loop for node in test.body for in_loop in _checks(node, given, in_loop=False)]
            if checks and all(checks):
                yield test.lineno


def _checks(node: ast.AST, given: set[str], *, in_loop: bool) -> Iterator[bool]:
    """Yield for each check whether it is in a loop that may have no rounds."""
    if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and _CHECK.search(ast.unparse(node.func))):
        yield in_loop
    rounds = node.body if isinstance(node, ast.For | ast.AsyncFor) and not is_filled(node.iter, given) else []
    for part in ast.iter_child_nodes(node):
        yield from _checks(part, given, in_loop=in_loop or part in rounds)


def is_filled(value: ast.expr, given: set[str]) -> bool:
    """Return whether an iterable is written out and has elements: a display, a range or a constant."""
    match value:
        case (
            ast.Tuple(elts=elements)
            | ast.List(elts=elements)
            | ast.Set(elts=elements)
            | ast.Dict(keys=elements)
        ):
            return bool(elements)
        case ast.Name(id=name):
            return name in given or name.isupper()
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _is_filled_by(name, [is_filled(one, given) for one in arguments])
        case ast.Call(func=ast.Attribute(value=inner, attr="items" | "values" | "keys")):
            return is_filled(inner, given)
        case ast.BinOp(left=left, right=right):
            return is_filled(left, given) or is_filled(right, given)
    return isinstance(value, ast.Constant) and bool(value.value)


def _is_filled_by(name: str, arguments: list[bool]) -> bool:
    """Return whether a call of a built-in has rounds, given which of its arguments have."""
    if name in _AS_MANY:
        return arguments[:1] == [True]
    return name == "range" or (name == "zip" and any(arguments)) or (name == "product" and all(arguments))
