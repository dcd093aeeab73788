# What plain `snakemake` builds: all that params.yaml enables. The workflow itself is the package's; of a checkout:
# workflow/Snakefile.
from gradrank.pipeline.code_closure import WORKFLOW


include: WORKFLOW / "rules/params.smk"


configfile: "params.yaml"


include: WORKFLOW / "Snakefile"


# Snakemake takes no default target from an included file.
rule all:
    default_target: True
    input:
        rules.data.input,
        rules.report.output,
        lambda _: recorded(requested(), requested_studies()),
        rules.track.output,
        rules.snapshot.output,
    localrule: True
