"""Accounts, members and keys from the command line; each works while the service runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from api.cli.console import out, print_json
from api.cli.stores import opened_catalog

DataDir = Annotated[Path, typer.Option("--data-dir", help="Folder that holds the store.")]
AccountId = Annotated[str, typer.Option("--account", help="Account id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Plan = Literal["starter", "growth", "scale"]

members = typer.Typer(name="members", help="Who belongs to an account.", no_args_is_help=True)
keys = typer.Typer(name="keys", help="API keys.", no_args_is_help=True)
account = typer.Typer(
    name="account", help="Plan, subscription and limits of an account.", no_args_is_help=True
)


def init(
    data_dir: DataDir,
    account: Annotated[str, typer.Option("--account", help="Name of the new account.")],
    email: Annotated[str, typer.Option("--email", help="E-mail address of its owner.")],
    plan: Annotated[Plan, typer.Option("--plan", help="Its plan.")] = "starter",
    as_json: AsJson = False,
) -> None:
    """Create an account with its owner and a first key; more accounts on one store are fine."""
    with opened_catalog(data_dir) as catalog:
        created, owner, token = catalog.accounts.create(name=account, email=email, plan=plan)
    if as_json:
        print_json({"account_id": created.id, "member_id": owner.id, "token": token})
        return
    out.print(f"Account [bold]{created.name}[/] ({created.id}), owner {owner.email_address} ({owner.id}).")
    out.print("Its key, shown this once:")
    out.print(token, style="bold", soft_wrap=True, highlight=False)


@members.command("add")
def add_member(
    data_dir: DataDir,
    account: AccountId,
    email: Annotated[str, typer.Option("--email", help="E-mail address.")],
    name: Annotated[str, typer.Option("--name", help="Name to show.")],
    role: Annotated[Literal["owner", "admin", "member"], typer.Option("--role", help="Role.")] = "member",
    as_json: AsJson = False,
) -> None:
    """Add an accepted member to an account."""
    with opened_catalog(data_dir) as catalog:
        member = catalog.members.add(account, email=email, name=name, role=role)
    if as_json:
        print_json({"id": member.id})
    else:
        out.print(f"Added {member.name} as {member.role}: {member.id}")


@keys.command("create")
def create_key(
    data_dir: DataDir,
    account: AccountId,
    member: Annotated[str, typer.Option("--member", help="Id of the member who holds the key.")],
    name: Annotated[str, typer.Option("--name", help="What the key is for.")],
    scopes: Annotated[str, typer.Option("--scopes", help="Scopes, separated by commas.")],
    projects: Annotated[
        str, typer.Option("--projects", help="Project ids, separated by commas; none means all.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Create an API key; its token is shown this once."""
    with opened_catalog(data_dir) as catalog:
        key, token = catalog.keys.create(
            account, member, name=name, scopes=_listed(scopes), project_ids=_listed(projects)
        )
    if as_json:
        print_json({"id": key.id, "token": token})
        return
    out.print(f"Key {key.name} ({key.id}):")
    out.print(token, style="bold", soft_wrap=True, highlight=False)


@account.command("update")
def update_account(
    data_dir: DataDir,
    account: AccountId,
    plan: Annotated[Plan | None, typer.Option("--plan", help="New plan.")] = None,
    subscription_status: Annotated[
        str | None, typer.Option("--subscription-status", help="Such as active, past_due or canceled.")
    ] = None,
    max_projects: Annotated[
        int | None, typer.Option("--max-projects", min=0, help="Projects allowed, whatever the plan says.")
    ] = None,
    rate_limit: Annotated[
        int | None, typer.Option("--rate-limit", min=1, help="Requests per minute, whatever the plan says.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Change an account's plan, subscription or limits; what is not named stays as it is."""
    with opened_catalog(data_dir) as catalog:
        updated = catalog.accounts.update(
            account,
            plan=plan,
            subscription_status=subscription_status,
            max_projects=max_projects,
            rate_limit=rate_limit,
        )
    facts = {
        "id": updated.id,
        "plan": updated.plan,
        "subscription_status": updated.subscription_status,
        "max_projects": updated.max_projects,
        "rate_limit_per_minute": updated.rate_limit_per_minute,
    }
    if as_json:
        print_json(facts)
    else:
        out.print("\n".join(f"{name}: {value}" for name, value in facts.items()))


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
