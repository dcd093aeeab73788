# Needs: results/<dataset>/ with summary.json, results/studies/<study>/ with its page, and the report's figures. Makes:
# runs in MLflow (sqlite:///mlflow.db unless MLFLOW_TRACKING_URI is set) and results/tracked.json, which names them. One
# process: parallel first use of a fresh store crashes.


rule track:
    input:
        summaries=lambda _: expand("results/{dataset}/summary.json", dataset=requested()),
        studies=lambda _: expand("results/studies/{study}/numbers.json", study=requested_studies()),
        report="results/report.html",
    output:
        "results/tracked.json",
    log:
        "logs/track.log",
    localrule: True  # as report
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("track"),
        datasets=lambda _: ",".join(requested()),
        models=",".join(MODELS),
        studies=lambda _: as_json({name: params.tracked_settings(name) for name in requested_studies()}),
    shell:
        """
        gradrank track \
            --results results \
            --datasets '{params.datasets}' \
            --models {params.models} \
            --studies {params.studies:q} \
            --out {output} \
            >{log} 2>&1
        """
