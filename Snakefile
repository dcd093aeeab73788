# gradrank: fetch -> parse -> pairs -> train every model on every fold -> evaluate -> report -> track.
# Targets: all (what params.yaml enables), any data set's name, any study's, and the stages data, report, track.
from snakemake.utils import min_version

min_version("9.5")


configfile: "params.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/pairs.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/common_studies.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/provenance.smk"
include: "workflow/rules/track.smk"


localrules:
    all,
    data,
    report,
    track,
    fetch,
    generate,


rule all:
    default_target: True
    input:
        rules.data.input,
        rules.report.input,
        rules.provenance.output,
        rules.track.input,


for dataset in DATASETS:

    rule:
        name:
            dataset
        input:
            rules.data.input,
            rules.report.input,
            rules.provenance.output,
            rules.track.input,
        localrule: True
