# Needs: every result of a data set; a study's page. Makes: results/<dataset>/provenance.json and
# results/studies/<name>/provenance.json, what they were made of, in git; `gradrank verify` holds them against the
# checkout.
from gradrank.pipeline.provenance import in_force
from gradrank.pipeline.snapshot import SNAPSHOT, restore_if_empty
from gradrank.pipeline.study_provenance import study_in_force

if workflow.is_main_process and (restored := restore_if_empty()):
    print(f"{SNAPSHOT}: {len(restored)} outputs restored", file=sys.stderr)


# `update` leaves the record that lies there, an older run's or the committed one, for the command to compare with, and
# puts it back where that fails.
rule provenance:
    input:
        data=STORED,
        per_query=lambda wc: expand("results/{dataset}/{model}/per_query.parquet", model=MODELS, **wc),
        summary="results/{dataset}/summary.json",
    output:
        update("results/{dataset}/provenance.json"),
    log:
        "logs/provenance/{dataset}.log",
    localrule: True  # it reads every file once; a queue would take longer
    conda:
        "../envs/gradrank.yaml"
    params:
        code=recording_code("provenance", code_files(variants(MODELS))),
        values=lambda wc: as_json(in_force(params, wc.dataset, MODELS)),
    shell:
        """
        gradrank provenance {wildcards.dataset} \
            --params {params.values:q} \
            --results results \
            --data data/parquet \
            >{log} 2>&1
        """


rule study_provenance:
    input:
        per_query=measured_for,
        numbers="results/studies/{study}/numbers.json",
        markdown="results/studies/{study}/page.md",
    output:
        update("results/studies/{study}/provenance.json"),
    log:
        "logs/study_provenance/{study}.log",
    localrule: True  # as provenance
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: recording_code("study_provenance", study_files(wc.study)),
        values=lambda wc: as_json(study_in_force(params, wc.study)),
    shell:
        """
        gradrank study-provenance {wildcards.study} \
            --params {params.values:q} \
            --results results \
            >{log} 2>&1
        """
