# Needs: results/<dataset>/ with summary.json. Makes: runs in MLflow (sqlite:///mlflow.db unless MLFLOW_TRACKING_URI
# is set) and results/tracked.json, which names them. One process: parallel first use of a fresh store crashes.


rule track:
    input:
        summaries=lambda _: expand("results/{dataset}/summary.json", dataset=requested()),
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
    shell:
        """
        gradrank track \
            --results results \
            --datasets {params.datasets} \
            --models {params.models} \
            --out {output} \
            >{log} 2>&1
        """
