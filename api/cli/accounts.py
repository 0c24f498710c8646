"""Commands for accounts, members and API keys; each works while the service runs."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from api.cli.console import out, print_json, print_records
from api.cli.options import AsJson, DataDir
from api.cli.stores import URL_OF_NEW, account_of, new_project, opened_catalog, require_store

if TYPE_CHECKING:
    from pipeline.store.catalog.keys import ApiKey
    from pipeline.store.catalog.members import Member

AccountId = Annotated[str | None, typer.Option("--account", help="Account id; by default the only account.")]
Plan = Literal["starter", "growth", "scale"]
_KEY_COLUMNS: Final = ("id", "name", "member_id", "scopes", "last_used_at", "revoked_at")

members = typer.Typer(name="members", help="Members of an account.", no_args_is_help=True)
keys = typer.Typer(name="keys", help="API keys.", no_args_is_help=True)
account = typer.Typer(
    name="account", help="Plan, subscription and limits of an account.", no_args_is_help=True
)


def init(
    data_dir: DataDir,
    account: Annotated[str, typer.Option("--account", help="Name of the new account.")],
    email: Annotated[str, typer.Option("--email", help="E-mail address of the owner.")],
    plan: Annotated[Plan, typer.Option("--plan", help="Plan of the account.")] = "scale",
    currency: Annotated[
        str | None,
        typer.Option(
            "--currency",
            help="Creates a first project too, whose amounts are in this currency (ISO 4217, such as EUR).",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create an account with its owner and a first API key; a store can hold several accounts."""
    fields = None if currency is None else _first_project(account, currency.upper())
    with opened_catalog(data_dir) as catalog:
        created, owner, token = catalog.accounts.create(name=account, email=email, plan=plan)
        project = None
        if fields is not None:
            catalog.warehouses.announce(data_dir)
            project = new_project(catalog, created.id, fields)
    if as_json:
        ids = {"account_id": created.id, "member_id": owner.id}
        print_json(ids | ({} if project is None else {"project_id": project.id}) | {"token": token})
        return
    out.print(f"Account {created.name} ({created.id}), owner {owner.email_address} ({owner.id}).")
    if project is not None:
        out.print(f"Project {project.name} ({project.id}), amounts in {project.revenue_currency}.")
    out.print("Its API key, shown only now:")
    out.print(token, style="bold", soft_wrap=True, highlight=False)
    out.print("Start the service with `truelift serve`, and look at the dashboard with `truelift open`,")
    out.print(
        f"each with --data-dir {data_dir}; its address is http://127.0.0.1:8000/ by default.",
        soft_wrap=True,
        highlight=False,
    )


def _first_project(name: str, currency: str) -> dict[str, object]:
    """Return the fields of an account's first project; BadParameter for an unknown currency."""
    from engine.currencies import CURRENCIES

    if currency not in CURRENCIES:
        raise typer.BadParameter(f"{currency!r} is no ISO 4217 code of a currency; use one such as EUR")
    return {"name": name, "url": URL_OF_NEW, "settings": {"revenue_currency": currency}}


@members.command("add")
def add_member(
    data_dir: DataDir,
    email: Annotated[str, typer.Option("--email", help="E-mail address.")],
    name: Annotated[str, typer.Option("--name", help="Name of the member.")],
    role: Annotated[Literal["owner", "admin", "member"], typer.Option("--role", help="Role.")] = "member",
    account: AccountId = None,
    as_json: AsJson = False,
) -> None:
    """Add an accepted member to an account."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        member = catalog.members.add(account_of(catalog, account), email=email, name=name, role=role)
    if as_json:
        print_json({"id": member.id})
    else:
        out.print(f"Added {member.name} as {member.role}: {member.id}")


@members.command("list")
def list_members(data_dir: DataDir, account: AccountId = None, as_json: AsJson = False) -> None:
    """List the accepted members of an account, oldest first."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        found = catalog.members.accepted(account_of(catalog, account))
    rows = [_member_fields(one) for one in found]
    if as_json:
        print_json({"members": rows})
    else:
        print_records(rows)


@members.command("remove")
def remove_member(
    data_dir: DataDir,
    member: Annotated[str, typer.Option("--member", help="Id of the member.")],
    account: AccountId = None,
    as_json: AsJson = False,
) -> None:
    """Remove a member and its API keys, at once and permanently; the only owner stays."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        removed = catalog.members.remove(account_of(catalog, account), member)
    if as_json:
        print_json(_member_fields(removed))
    else:
        out.print(f"Removed {removed.name} ({removed.id}) and its API keys.", highlight=False)


@keys.command("create")
def create_key(
    data_dir: DataDir,
    member: Annotated[str, typer.Option("--member", help="Id of the member that holds the key.")],
    name: Annotated[str, typer.Option("--name", help="What the key is for.")],
    scopes: Annotated[str, typer.Option("--scopes", help="Scopes, separated by commas.")],
    projects: Annotated[
        str, typer.Option("--projects", help="Project ids, separated by commas; all projects by default.")
    ] = "",
    account: AccountId = None,
    as_json: AsJson = False,
) -> None:
    """Create an API key; its token is shown only once."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        key, token = catalog.keys.create(
            account_of(catalog, account),
            member,
            name=name,
            scopes=_split(scopes),
            project_ids=_split(projects),
        )
    if as_json:
        print_json({"id": key.id, "token": token})
        return
    out.print(f"Key {key.name} ({key.id}):")
    out.print(token, style="bold", soft_wrap=True, highlight=False)


@keys.command("list")
def list_keys(data_dir: DataDir, account: AccountId = None, as_json: AsJson = False) -> None:
    """List the API keys of an account without their secrets, newest first, including revoked ones."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        found = catalog.keys.of_account(account_of(catalog, account))
    rows = [_key_fields(one) for one in found]
    if as_json:
        print_json({"keys": rows})
    else:
        print_records([{name: row[name] for name in _KEY_COLUMNS} for row in rows])


@keys.command("revoke")
def revoke_key(
    data_dir: DataDir,
    key: Annotated[str, typer.Option("--key", help="Id of the key.")],
    account: AccountId = None,
    as_json: AsJson = False,
) -> None:
    """Revoke an API key, at once and permanently; revoking it again changes nothing."""
    from pipeline.clock import utc_now

    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        revoked = catalog.keys.revoke(account_of(catalog, account), key, now=utc_now())
    fields = _key_fields(revoked)
    if as_json:
        print_json(fields)
    else:
        out.print(
            f"Key {revoked.name} ({revoked.id}) is revoked since {fields['revoked_at']}.", highlight=False
        )


@account.command("update")
def update_account(
    data_dir: DataDir,
    plan: Annotated[Plan | None, typer.Option("--plan", help="New plan.")] = None,
    subscription_status: Annotated[
        str | None, typer.Option("--subscription-status", help="Such as active, past_due or canceled.")
    ] = None,
    max_projects: Annotated[
        int | None,
        typer.Option("--max-projects", min=0, help="Maximum number of projects, in place of the plan's."),
    ] = None,
    rate_limit: Annotated[
        int | None, typer.Option("--rate-limit", min=1, help="Requests per minute, in place of the plan's.")
    ] = None,
    account: AccountId = None,
    as_json: AsJson = False,
) -> None:
    """Change an account's plan, subscription or limits; values that are not given stay unchanged."""
    require_store(data_dir)
    with opened_catalog(data_dir) as catalog:
        updated = catalog.accounts.update(
            account_of(catalog, account),
            plan=plan,
            subscription_status=subscription_status,
            max_projects=max_projects,
            rate_limit=rate_limit,
        )
    values = {
        "id": updated.id,
        "plan": updated.plan,
        "subscription_status": updated.subscription_status,
        "max_projects": updated.max_projects,
        "rate_limit_per_minute": updated.rate_limit_per_minute,
    }
    if as_json:
        print_json(values)
    else:
        out.print("\n".join(f"{name}: {value}" for name, value in values.items()))


def _member_fields(member: "Member") -> dict[str, Any]:
    return {
        "id": member.id,
        "name": member.name,
        "email_address": member.email_address,
        "role": member.role,
    }


def _key_fields(key: "ApiKey") -> dict[str, Any]:
    from api.schemas.api_keys import ApiKey as ShownKey

    return ShownKey.of(key).model_dump(mode="json")


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
