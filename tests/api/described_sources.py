"""Sources that files in the folder of a service describe."""

from pathlib import Path

from api.services import Services


def describe_source(
    services: Services, name: str, project_id: str | None, location: Path = Path("visits.csv")
) -> None:
    """Describe a source of visitors, replacing one of that name; without a project, one of any."""
    folder = services.settings.data_dir / "sources"
    folder.mkdir(exist_ok=True)
    owner = "" if project_id is None else f'project = "{project_id}"\n'
    (folder / f"{name}.toml").write_text(
        f'kind = "visitors"\nlocation = "{location}"\ncontrol = "A"\n{owner}'
        'goals = {bought = "conversion"}\n[columns]\nvariant = "page"\nvisitor = "id"\n'
    )
