"""Write docs/performance.md from the records in benchmarks/results: `python benchmarks/performance_page.py`."""

import json
from pathlib import Path

from measured import RESULTS

PAGE = Path(__file__).parents[1] / "docs/performance.md"
ORDER = ("full_mq2007", "summary", "track", "start_", "loss_", "attention", "wide_net", "predict_", "memory")
HEAD = """# Performance: how long a user waits

This page says how long the slow steps take, how the time grows, and what limits it. Below each table is the script
that measured it. To measure on your machine, run the script. With `--record`, it writes its record in
`benchmarks/results`, from which `benchmarks/performance_page.py` writes this page:

<!-- not run: minutes of training, an older commit, and packages of other projects -->
```sh
.venv/bin/python benchmarks/track.py --before COMMIT --peers PYTHON --record
.venv/bin/python benchmarks/performance_page.py
```

The option `--before` measures an older commit as well. `--peers` is the Python of an environment with the packages of
other projects (allRank, rax).

Unless a title names another unit, all values are processor seconds of one thread, so other programs on the machine
hardly affect them. The programs of one table ran one after the other on the same machine. *After* is this version, and
*before* is the commit named below the table. *Ratio* is the value divided by that of *after*, at the largest size.
*Slope* is that of log(value) over log(size): 1 is linear growth, 2 is quadratic growth. [scale.md](scale.md) has times
and memory for large collections.
"""


def table(content: dict) -> str:
    """Return the table of one record in Markdown."""
    sizes = list(dict.fromkeys(size for tool in content["tools"].values() for size in tool["seconds"]))
    several = len(sizes) > 1
    titles = [f"{content['size']}: {float(size):,.0f}" if several else "seconds" for size in sizes]
    head = ["program", *titles, "ratio", *(["slope"] if several else [])]
    lines = [head, [":--", *["--:"] * (len(head) - 1)]]
    for name, tool in content["tools"].items():
        seconds = [f"{tool['seconds'][size]:.3g}" if size in tool["seconds"] else "" for size in sizes]
        growth = [f"{tool['slope']:.2f}" if tool["slope"] is not None else ""] if several else []
        lines.append([name, *seconds, f"{tool['ratio']:.2f}" if tool["ratio"] is not None else "", *growth])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def section(content: dict) -> str:
    """Return the section of one record."""
    versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
    before = f" (before: commit {content['before']})" if content["before"] else ""
    measured = f"`{content['script']}`{before}, {content['date']}: {content['machine']}; {versions}."
    parts = [
        f"## {content['title']}",
        table(content),
        *("\n".join(f"- {note}" for note in content["notes"]),),
        measured,
    ]
    return "\n\n".join(filter(None, parts))


def place(path: Path) -> tuple[int, str]:
    """Return the sort key of a record."""
    found = [i for i, start in enumerate(ORDER) if path.stem.startswith(start)]
    return (found[0] if found else len(ORDER)), path.stem


def page() -> str:
    """Return the text of docs/performance.md."""
    records = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"), key=place)]
    return "\n\n".join([HEAD.rstrip(), *map(section, records)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(PAGE)
