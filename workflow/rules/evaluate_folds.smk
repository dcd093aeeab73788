# Needs: the scores of a model's folds. Makes: results/<dataset>/<model>/per_query.parquet, from scores alone.


rule evaluate_folds:
    input:
        data="data/parquet/{dataset}/collection.json",
        scores=scores_of,
    output:
        "results/{dataset}/{model}/per_query.parquet",
    log:
        "logs/evaluate_folds/{dataset}/{model}.log",
    group:
        "{dataset}.{model}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("evaluate_folds"),
        folder="results/{dataset}/{model}",
        model=lambda wc: model_options(wc.model),
        seed=params.seed,
        conventions=",".join(params.evaluation.conventions),
        metrics=",".join(params.evaluation.metrics),
    shell:
        """
        gradrank evaluate-folds {params.folder} \
            {params.model} \
            --data "$(dirname {input.data})" \
            --seed {params.seed} \
            --conventions {params.conventions} \
            --metrics {params.metrics} \
            >{log} 2>&1
        """
