"""`python tests/campaigns/guided.py [SECONDS] [--seed S]`: params.yaml files that a coverage-guided fuzzer finds.

It needs `pip install atheris`, which sees what lines and comparisons a file reaches, and changes files towards what
none has reached before; it begins with those of params.py, whose oracle judges them. Text and tables are read by
compiled code, which it sees nothing of: lines.py and hostile.py try them.
"""

import os
import signal
import sys
import time

import yaml
from small import Campaign


def main() -> int:
    campaign = Campaign(__doc__, 600)
    import atheris

    with atheris.instrument_imports(include=["gradrank.pipeline", "gradrank.validation", "yaml"]):
        import params

    known, path = campaign.folder / "known", campaign.folder / "params.yaml"
    known.mkdir()
    for number in range(200):
        kind = campaign.draw.choice((params.right, params.anything))
        text = kind(campaign.draw, yaml.safe_load(params.SHIPPED))[0]
        (known / f"{number}").write_text(text, encoding="utf-8", errors="replace")
    until = time.monotonic() + campaign.number

    def once(text: bytes) -> None:
        path.write_bytes(text)
        campaign.counts["files"] += 1
        params.judge(campaign, path, "bytes_changed", None, text)
        if time.monotonic() > until:
            end()

    def end(*_: object) -> None:
        code = campaign.end()
        sys.stdout.flush()
        os._exit(code)  # the fuzzer has no end of its own

    signal.signal(signal.SIGTERM, end)
    options = (f"-seed={campaign.seed + 1}", "-max_len=9000", "-verbosity=0", f"-artifact_prefix={known}/")
    atheris.Setup([sys.argv[0], str(known), *options], once)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
