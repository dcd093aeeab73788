# Log the results to MLflow: to MLFLOW_TRACKING_URI, or by default to sqlite:///mlflow.db.
#
# Needs: the records (provenance.json) of data sets and studies, and the report with its figures.
# Makes: runs in MLflow, and results/tracked.json with their ids. The target of one data set or study makes tracked.json
# in the folder of that data set or study.


rule track:
    "Log the results to MLflow."
    input:
        lambda _: plan.run_records(),
        lambda _: copied([*plan.run_files(), "results/report"]),
        report="results/report.html",
    output:
        "results/tracked.json",
    log:
        "logs/track.log",
    benchmark:
        "logs/track.tsv"
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("track"),
        results=subpath(input.report, parent=True),
        datasets=lambda _: plan.tracked_datasets(settings.run.datasets),
        studies=lambda _: plan.tracked_studies(plan.reduced_studies),
        file=PARAMS,
    shell:
        """
        gradrank track \
            --results {params.results} \
            --datasets {params.datasets:q} \
            --studies {params.studies:q} \
            --params {params.file} \
            --report {input.report} \
            --out {output} \
            >{log} 2>&1
        """


# A rule that is derived from a local rule is not local.
localrules:
    dataset_track,
    study_track,


use rule track as dataset_track with:
    input:
        "results/{dataset}/provenance.json",
        lambda wc: copied([*plan.dataset_files(wc.dataset), f"results/{wc.dataset}/report"]),
        report="results/{dataset}/report.html",
    output:
        "results/{dataset}/tracked.json",
    log:
        "logs/track/{dataset}.log",
    benchmark:
        "logs/track/{dataset}.tsv"
    params:
        code=code_digest("track"),
        results=subpath(input.report, ancestor=2),
        datasets=lambda wc: plan.tracked_datasets([wc.dataset]),
        studies=lambda _: plan.tracked_studies([]),
        file=PARAMS,


use rule track as study_track with:
    input:
        "results/studies/{study}/provenance.json",
        lambda wc: copied([*plan.study_files(wc.study), f"results/studies/{wc.study}/report"]),
        report="results/studies/{study}/report.html",
    output:
        "results/studies/{study}/tracked.json",
    log:
        "logs/track/{study}.log",
    benchmark:
        "logs/track/{study}.tsv"
    params:
        code=code_digest("track"),
        results=lambda wc, input: input.report.removesuffix(f"studies/{wc.study}/report.html"),
        datasets=lambda _: plan.tracked_datasets([]),
        studies=lambda wc: plan.tracked_studies([wc.study]),
        file=PARAMS,
