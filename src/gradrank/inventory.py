"""What there is: `gradrank models` and `gradrank datasets` as tables on the terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from gradrank.data.catalogue import catalogue
from gradrank.learning.model import Model, get_model, missing_packages, models


def list_models(name: str | None) -> None:
    """A line a model; with a name, that model's parameters with defaults, ranges and sources."""
    console = Console()
    if name is not None:
        _show_parameters(console, get_model(name))
        return
    table = Table("model", "what it is", "needs", box=None, pad_edge=False)
    for model, cls in models().items():
        table.add_row(model, cls.summary, escape(_needs(cls)))  # [extra] is no markup
    console.print(table)
    console.print("\n`gradrank models NAME` lists a model's parameters, their defaults and sources.")


def _needs(cls: type[Model]) -> str:
    needs = ["pairs"] if cls.needs_pairs else []
    if cls.extra:
        state = "" if missing_packages(cls) else ", installed"
        needs.append(f"pip install 'gradrank[{cls.extra}]'{state}")
    return "; ".join(needs)


def _show_parameters(console: Console, cls: type[Model]) -> None:
    console.print(f"[bold]{cls.name}[/bold]: {cls.summary}", highlight=False)
    table = Table("parameter", "default", "allowed", "source", box=None, pad_edge=False)
    schema = cls.Params.model_json_schema()["properties"]
    for name, field in cls.Params.model_fields.items():
        table.add_row(name, str(field.default), _allowed(schema[name]), field.description or "")
    console.print(table)


def _allowed(schema: dict) -> str:
    """A parameter's type and range, read from its JSON schema."""
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if "anyOf" in schema:
        return " | ".join(_allowed(choice) for choice in schema["anyOf"])
    signs = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[key]:g}" for key, sign in signs.items() if key in schema]
    kind = schema.get("type", "any")
    if kind == "array" and isinstance(schema.get("items"), dict):
        kind = f"list of {_allowed(schema['items'])}"
    return " ".join([kind, *bounds])


def list_datasets() -> None:
    """A block a data set: what it is, its counts, its licence, its download, and how to get it."""
    console = Console(highlight=False)
    for name, entry in catalogue().items():
        console.print(f"[bold]{name}[/bold]: {entry.title}")
        counts = [
            f"{getattr(entry, key):,} {key}" for key in ("rows", "queries", "features") if getattr(entry, key)
        ]
        archives = [
            f"{archive.name} ({archive.bytes / 1e6:.1f} MB)" if archive.bytes else archive.name
            for archive in entry.archives
        ]
        facts = {
            "size": ", ".join([*counts, "five folds" if entry.folds == 5 else "one split"]),
            "licence": entry.licence,
            "download": " or ".join(archives) or "none",
            "to get it": entry.obtain,
            "cite": entry.citation,
        }
        for label, text in facts.items():
            if text:
                console.print(f"  [dim]{label:9}[/dim] {text}", soft_wrap=True)
