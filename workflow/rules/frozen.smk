# `snakemake contest --config contest_datasets=mq2008`: collections that the contest looks at once, with everything frozen
# that was chosen on the first of `studies.contest.datasets`. Before params.yaml is checked, of which this is no key.
from snakemake.exceptions import WorkflowError

if named := config.pop("contest_datasets", None):
    if not (config.get("studies") or {}).get("contest"):
        raise WorkflowError(
            "contest_datasets: params.yaml has no `studies.contest`; add it: its choices are taken over"
        )
    config["studies"]["contest"]["frozen"] = named if isinstance(named, list) else str(named).split(",")
