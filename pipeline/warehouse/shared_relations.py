"""Relations of several experiments in one statement: those that are equal are written, and read, once."""

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from pipeline.warehouse.dialects.dialect import Dialect
from pipeline.warehouse.expressions import RELATION, relation_name

Relations = dict[str, exp.Expression]


def shared_relations(
    counts: Iterable[tuple[Relations, Sequence[exp.Expression]]], dialect: Dialect
) -> Relations:
    """Return the relations of all experiments by names of their own, and rename them where they are used.

    `counts` has the relations of each experiment, each made of those before it, and the selects of them.
    """
    found: Relations = {}
    names: dict[str, str] = {}
    for number, (relations, selects) in enumerate(counts):
        renamed: dict[str, str] = {}
        for name, relation in relations.items():
            _rename(relation, renamed)
            own = names.setdefault(
                relation.sql(dialect.name), name if name not in found else f"{name}_{number}"
            )
            found[own] = relation
            renamed[name] = own
        for select in selects:
            _rename(select, renamed)
    return found


def _rename(tree: exp.Expression, names: Mapping[str, str]) -> None:
    for table in tree.find_all(exp.Table):
        name = table.name.removeprefix(RELATION)
        if not table.args.get("db") and name != table.name and name in names:
            table.set("this", relation_name(names[name]))
