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
        GROUP
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("evaluate_folds"),
        folder="results/{dataset}/{model}",
        model=lambda wc: model_options(wc.model),
        seed=params.seeds[0],
        further_seeds=lambda wc: further_seeds(wc.model),
        conventions=",".join(params.evaluation.conventions),
        metrics=",".join(params.evaluation.metrics),
    shell:
        """
        gradrank evaluate-folds {params.folder} \
            {params.model} \
            --data "$(dirname {input.data})" \
            --seed {params.seed} \
            {params.further_seeds} \
            --conventions {params.conventions} \
            --metrics {params.metrics} \
            >{log} 2>&1
        """
