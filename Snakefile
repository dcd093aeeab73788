# Plain `snakemake` makes everything that the section `run` of params.yaml names. The rules are in workflow/ of the
# checkout, or of the installed package.
from gradrank.bench.config.code_digest import WORKFLOW


include: WORKFLOW / "rules/params.smk"


configfile: "params.yaml"


include: WORKFLOW / "Snakefile"


# Snakemake ignores a default target in an included file.
rule all:
    "Make everything that the section `run` of params.yaml names."
    default_target: True
    input:
        rules.run.input,
    localrule: True
