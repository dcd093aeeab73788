# Log the results to MLflow: to MLFLOW_TRACKING_URI, or by default to sqlite:///mlflow.db.
#
# Needs: the records (provenance.json) of data sets and studies, and the report with its figures.
# Makes: runs in MLflow, and results/tracked.json with their ids. The target of one data set or study makes tracked.json
# in the folder of that data set or study.


rule track:
    "Log the results to MLflow."
    input:
        lambda _: plan.run_records(),
        report="results/report.html",
    output:
        "results/tracked.json",
    log:
        "logs/track.log",
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("track"),
        datasets=lambda _: plan.tracked_datasets(settings.run.datasets),
        studies=lambda _: plan.tracked_studies(plan.reduced_studies),
    shell:
        """
        gradrank track \
            --results results \
            --datasets {params.datasets:q} \
            --studies {params.studies:q} \
            --report {input.report} \
            --out {output} \
            >{log} 2>&1
        """


use rule track as dataset_track with:
    input:
        "results/{dataset}/provenance.json",
        report="results/{dataset}/report.html",
    output:
        "results/{dataset}/tracked.json",
    log:
        "logs/track/{dataset}.log",
    params:
        code=code_digest("track"),
        datasets=lambda wc: plan.tracked_datasets([wc.dataset]),
        studies=lambda _: plan.tracked_studies([]),


use rule track as study_track with:
    input:
        "results/studies/{study}/provenance.json",
        report="results/studies/{study}/report.html",
    output:
        "results/studies/{study}/tracked.json",
    log:
        "logs/track/{study}.log",
    params:
        code=code_digest("track"),
        datasets=lambda _: plan.tracked_datasets([]),
        studies=lambda wc: plan.tracked_studies([wc.study]),
