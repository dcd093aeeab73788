"""`python tests/system/params.py [NUMBER] [--seed S]`: generated params.yaml files, made from the shipped one.

Each file has one change. A value within its range must be loaded. An unknown key, a duplicate key, and a value of
another type or outside its range must be refused with a GradrankError that names the key. Any other change must be
accepted or refused, without any other exception and without executing code.
"""

import random
import sys
from typing import Any

import yaml
from campaign import Campaign

from gradrank.base.errors import GradrankError
from gradrank.bench.config.params import load
from gradrank.training.registry import models
from project import ROOT

SHIPPED = (ROOT / "params.yaml").read_text(encoding="utf-8")
ANYTHING = (
    None, True, -1, 0, 3, 10**30, 0.5, float("nan"), float("inf"), "", "x", "all", " ", "\0", "{a}", "../..", [], [1],
    [[]], {}, {"x": 1}, {"grid": {}}, {"grid": {"x": [1]}}, {1: 2}, {"model": "mart"}, [None], "a" * 300, "ndcg@0",
)  # fmt: skip
TAGGED = (
    "!!python/object/apply:os.system [touch EXECUTED]", "!!python/name:os.system", "!!binary aGk=", "!!set {a}",
    "&a [*a]", "2020-13-45", "0o17", "~", ".inf", "!x y", "{<<: 3}", "*nothing", "[" * 60, '"\\x"', "%",
)  # fmt: skip
RANGES = ("ge", "gt", "le", "lt")
Change = tuple[str, str | None]  # the text of the file, and what a refusal must name


def main() -> int:
    campaign = Campaign(__doc__, 10_000)
    path, executed = campaign.folder / "params.yaml", campaign.folder / "executed"
    kinds = (valid_value, unknown_key, out_of_range, other_type, duplicate_key, any_value, tagged)
    for _ in range(campaign.number):
        kind = campaign.draw.choice(kinds)
        text, named = kind(campaign.draw, yaml.safe_load(SHIPPED))
        path.write_text(text.replace("EXECUTED", str(executed)), encoding="utf-8")
        campaign.counts[kind.__name__.replace("_", " ")] += 1
        judge(campaign, path, kind, named)
        if executed.exists():
            campaign.fault(f"executed: {text!r}")
    return campaign.end()


def judge(campaign: Campaign, path, kind, named: str | None) -> None:
    try:
        params = load(path)
    except GradrankError as error:
        if kind is valid_value or (named or "") not in str(error):
            campaign.fault(f"{kind.__name__}: {named}: {error}")
    except Exception as error:
        campaign.fault(f"{kind.__name__}: {type(error).__name__}: {error}: {path.read_bytes()[:3000]!r}")
    else:
        if kind in (unknown_key, out_of_range, other_type, duplicate_key):
            campaign.fault(f"{kind.__name__}: accepted: {named}")
        if kind is valid_value:
            _, model, key = named.split(".")
            wanted = yaml.safe_load(path.read_bytes())["models"][model][key]
            if params.models[model].params[key] != wanted:
                campaign.fault(f"not loaded: {named}: {wanted!r}")


def dumped(raw: Any) -> str:
    return yaml.safe_dump(raw, sort_keys=False, allow_unicode=True)


def set_parameter(draw: random.Random, raw: dict, value_of) -> Change:
    """Set a numeric parameter of a model to `value_of(its field)`."""
    fields = [
        (name, key, info)
        for name, cls in models().items()
        for key, info in cls.Params.model_fields.items()
        if type(info.default) in (int, float) and value_of(info) is not info
    ]
    name, key, info = draw.choice(fields)
    raw["models"][name] = {**(raw["models"].get(name) or {}), key: value_of(info)}
    return dumped(raw), f"models.{name}.{key}"


def valid_value(draw: random.Random, raw: dict) -> Change:
    return set_parameter(draw, raw, lambda info: info.default)


def out_of_range(draw: random.Random, raw: dict) -> Change:
    def outside(info) -> Any:
        """Return a value beyond a bound of a field, or the field itself if it has no bounds."""
        bounds = {side: getattr(item, side) for item in info.metadata for side in RANGES if hasattr(item, side)}
        side = next(iter(bounds), None)
        if side is None:
            return info
        return type(info.default)(bounds[side] - 10 if side in ("ge", "gt") else bounds[side] + 10)

    return set_parameter(draw, raw, outside)


def other_type(draw: random.Random, raw: dict) -> Change:
    value = draw.choice(("x", None, {"a": 1}, [[1]], float("nan"), "1.2.3", ""))
    return set_parameter(draw, raw, lambda info: value)


def unknown_key(draw: random.Random, raw: dict) -> Change:
    name = "".join(draw.choices("abcdefgh_", k=draw.randrange(4, 20))) + "q"
    draw.choice([raw, raw["run"], raw["evaluation"], *raw["models"].values()])[name] = 1
    return dumped(raw), name


def duplicate_key(draw: random.Random, raw: dict) -> Change:
    key = draw.choice(list(raw))
    return f"{dumped(raw)}{key}: 1\n", key


def any_value(draw: random.Random, raw: dict) -> Change:
    at = draw.choice([raw, raw["run"], raw["evaluation"], *raw["models"].values()])
    at[draw.choice(list(at))] = draw.choice(ANYTHING)
    return dumped(raw), None


def tagged(draw: random.Random, raw: dict) -> Change:
    lines = SHIPPED.splitlines()
    number = draw.choice([k for k, line in enumerate(lines) if line.count(":") == 1 and "#" not in line])
    lines[number] = f"{lines[number].split(':')[0]}: {draw.choice(TAGGED)}"
    return "\n".join(lines) + "\n", None


if __name__ == "__main__":
    sys.exit(main())
