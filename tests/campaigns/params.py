"""`python tests/campaigns/params.py [NUMBER] [--seed S]`: generated params.yaml files, made of the shipped one.

Each gets a change whose outcome is known: a value within its range must be in force afterwards; an unknown key or name,
a key twice, a value of another type or outside its range must be refused with a GradrankError that names it. The rest
is anything (values, tags, bytes at random): then whatever is accepted must say what a plain YAML reader reads.
"""

import random
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from small import ROOT, Campaign

from gradrank.errors import GradrankError
from gradrank.learning.model import models
from gradrank.pipeline.params import Params, load

SHIPPED = (ROOT / "params.yaml").read_text(encoding="utf-8")
ANYTHING = (
    None, True, -1, 0, 1, 3, 10**30, -(10**30), 0.5, 1e300, float("nan"), float("inf"), "", "x", "all", "[1]", "2005",
    " ", "\0", "\u202e", "{a}",
    "../..", "<b>", [], [1, 2], ["x"], [[]], {}, {"x": 1}, {"grid": {}}, {"grid": {"x": [1]}},
    {1: 2}, {"model": "mart"}, [None], "a" * 300, "ndcg@0", "ndcg@99999999999999999999",
)  # fmt: skip
TAGGED = (
    "!!python/object/apply:os.system [touch EXECUTED]",
    "!!python/name:os.system",
    "!!binary aGk=",
    "!!set {a}",
    "&a [*a]",
)
TAGGED += (
    "2020-13-45",
    "0o17",
    "1_000",
    "~",
    "yes",
    ".inf",
    "!x y",
    "{<<: 3}",
    "*nothing",
    "[" * 60,
    '"\\x"',
    "%",
)


def main() -> int:
    campaign = Campaign(__doc__, 10_000)
    path = campaign.folder / "params.yaml"
    kinds = (
        right,
        unknown_key,
        unknown_name,
        out_of_range,
        other_type,
        twice,
        anything,
        tagged,
        bytes_changed,
    )
    for _ in range(campaign.number):
        kind = campaign.draw.choice(kinds)
        text, named, value = kind(campaign.draw, yaml.safe_load(SHIPPED))
        written = text.encode(errors="surrogatepass") if isinstance(text, str) else text
        path.write_bytes(written.replace(b"EXECUTED", bytes(campaign.folder / "executed")))
        campaign.counts[kind.__name__.replace("_", " ")] += 1
        judge(campaign, path, kind.__name__, named, value)
        if (campaign.folder / "executed").exists():
            campaign.fault(f"executed: {text!r}")
    return campaign.end()


def judge(campaign: Campaign, path: Path, kind: str, named: str | None, value: Any) -> None:
    try:
        params = load(path)
    except GradrankError as error:
        if kind == "right":
            campaign.fault(f"{kind}: refused: {error}: {named} {value!r}")
        elif named is not None and named not in str(error):
            campaign.fault(f"{kind}: {named!r} is not named: {error}")
        campaign.counts["refused"] += 1
        return
    except Exception as error:
        campaign.fault(f"{kind}: {type(error).__name__}: {error}: {named} {path.read_bytes()[:3000]!r}")
        return
    if kind not in ("right", "anything", "tagged", "bytes_changed"):
        campaign.fault(f"{kind}: accepted: {named} {value!r}")
    if wrong := in_force(params, yaml.safe_load(path.read_bytes())):
        campaign.fault(f"{kind}: not in force: {wrong}")
    campaign.counts["accepted"] += 1


def in_force(params: Params, raw: Mapping[str, Any]) -> list[str]:
    """What the file says and the checked parameters do not."""
    wrong = [] if params.seed == raw["seed"] or str(params.seed) == raw["seed"] else ["seed"]
    for name in ("convention", "conventions", "metrics"):
        if name in raw["evaluation"] and not same(getattr(params.evaluation, name), raw["evaluation"][name]):
            wrong.append(f"evaluation.{name}")
    for name, values in (raw.get("models") or {}).items():
        if name in params.models and isinstance(values, dict) and not {"grid", "model"} & set(values):
            own = params.models[name].params
            wrong += [
                f"models.{name}.{key}" for key, value in values.items() if not same(own.get(key), value)
            ]
    return wrong


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other or str(one) == str(other) or (isinstance(one, float) and one == as_number(other))


def as_number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def dumped(raw: Any) -> str:
    return yaml.safe_dump(raw, sort_keys=False, allow_unicode=True)


def field(draw: random.Random) -> tuple[str, str, Any]:
    """A model, one of its numeric parameters, and what pydantic knows of it."""
    known = [
        (name, key, info)
        for name, cls in models().items()
        for key, info in cls.Params.model_fields.items()
        if type(info.default) in (int, float)
    ]
    return draw.choice(known)


def bounds(info: Any) -> dict[str, float]:
    return {
        key: getattr(each, key)
        for each in info.metadata
        for key in ("ge", "gt", "le", "lt")
        if hasattr(each, key)
    }


def put(raw: dict, name: str, key: str, value: Any) -> str:
    raw["models"] = {**raw["models"], name: {**(raw["models"].get(name) or {}), key: value}}
    return dumped(raw)


def right(draw: random.Random, raw: dict) -> tuple[str, str, Any]:
    name, key, info = field(draw)
    return put(raw, name, key, info.default), f"models.{name}.{key}", info.default


def out_of_range(draw: random.Random, raw: dict) -> tuple[str, str, Any]:
    while True:
        name, key, info = field(draw)
        if found := bounds(info):
            side = draw.choice(sorted(found))
            step = draw.choice((1, 10, 1000)) if side in ("ge", "le") else draw.choice((0, 1, 50))
            value = found[side] - step if side in ("ge", "gt") else found[side] + step
            return put(raw, name, key, type(info.default)(value)), key, value


def other_type(draw: random.Random, raw: dict) -> tuple[str, str, Any]:
    name, key, _ = field(draw)
    value = draw.choice(("x", None, {"a": 1}, [[1]], float("nan"), "1.2.3", "", True and "true"))
    return put(raw, name, key, value), key, value


def unknown_key(draw: random.Random, raw: dict) -> tuple[str, str, Any]:
    name = "".join(draw.choices("abcdefgh_", k=draw.randrange(4, 20))) + "q"
    places = [raw, raw["run"], raw["evaluation"], *raw["models"].values(), raw["datasets"]["synthetic_net"]]
    places += [*raw["studies"].values()]
    draw.choice(places)[name] = draw.choice((1, "x", [1]))
    return dumped(raw), name, None


def unknown_name(draw: random.Random, raw: dict) -> tuple[str, str, Any]:
    name = "".join(draw.choices("abcdefgh_", k=draw.randrange(4, 20))) + "q"
    section, key = draw.choice(
        (("run", "models"), ("run", "datasets"), ("evaluation", "metrics"), ("evaluation", "conventions"))
    )
    raw[section][key] = [*(raw[section][key] if isinstance(raw[section][key], list) else []), name]
    return dumped(raw), name, None


def twice(draw: random.Random, raw: dict) -> tuple[str, str, Any]:
    lines = dumped(raw).splitlines()
    number = draw.choice(
        [k for k, line in enumerate(lines) if not line.lstrip().startswith("-") and ":" in line]
    )
    indent, key = len(lines[number]) - len(lines[number].lstrip()), lines[number].split(":")[0].strip()
    end = next(
        (k for k in range(number + 1, len(lines)) if len(lines[k]) - len(lines[k].lstrip()) < indent
         or (len(lines[k]) - len(lines[k].lstrip()) == indent and not lines[k].lstrip().startswith("-"))),
        len(lines),
    )  # fmt: skip
    return "\n".join([*lines[:end], f"{' ' * indent}{key}: 1", *lines[end:]]) + "\n", key, None


def anything(draw: random.Random, raw: dict) -> tuple[str, None, Any]:
    """A value in place of another, anywhere."""
    at, key = raw, None
    while key is None or (isinstance(at[key], dict | list) and at[key] and draw.random() < 0.7):
        at = at if key is None else at[key]
        key = draw.choice(list(at) if isinstance(at, dict) else range(len(at)))
    at[key] = draw.choice(ANYTHING)
    try:
        return dumped(raw), None, None
    except yaml.YAMLError:
        return SHIPPED, None, None


def tagged(draw: random.Random, raw: dict) -> tuple[str, None, Any]:
    """Text that only a YAML reader understands, in place of a value."""
    lines = SHIPPED.splitlines()
    number = draw.choice([k for k, line in enumerate(lines) if line.count(":") == 1 and "#" not in line])
    value = draw.choice(TAGGED)
    lines[number] = f"{lines[number].split(':')[0]}: {value}"
    return "\n".join(lines) + "\n", None, None


def bytes_changed(draw: random.Random, raw: dict) -> tuple[bytes, None, Any]:
    text = bytearray(SHIPPED.encode())
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(text))
        text[at : at + draw.choice((0, 1, 1, 9))] = draw.randbytes(draw.randrange(3))
    return bytes(text), None, None


if __name__ == "__main__":
    sys.exit(main())
