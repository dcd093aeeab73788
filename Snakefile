# What plain `snakemake` makes: everything that `run` of params.yaml names. The rules lie in workflow/, in a checkout as in
# the installed package.
from gradrank.config.code_digest import WORKFLOW


include: WORKFLOW / "rules/params.smk"


configfile: "params.yaml"


include: WORKFLOW / "Snakefile"


# Snakemake takes no default target from an included file.
rule all:
    default_target: True
    input:
        rules.run.input,
    localrule: True
