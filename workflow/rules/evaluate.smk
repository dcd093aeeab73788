# Needs: the scores of a model's folds. Makes: results/<dataset>/<model>/per_query.parquet, from scores alone.


rule evaluate:
    input:
        data="data/parquet/{dataset}.parquet",
        scores=lambda wc: expand(
            "results/{dataset}/{model}/fold{fold}/scores.parquet", fold=folds(wc.dataset), **wc
        ),
        specs=lambda wc: expand(
            "results/{dataset}/{model}/fold{fold}/spec.json", fold=folds(wc.dataset), **wc
        ),
        code=sources("gradrank.evaluation"),
    output:
        "results/{dataset}/{model}/per_query.parquet",
    params:
        folder=subpath(output[0], parent=True),
        values=lambda wc: as_json(study.models[wc.model]),
        seed=study.seed,
        conventions=",".join(study.evaluation.conventions),
        metrics=",".join(study.evaluation.metrics),
    log:
        "logs/evaluate/{dataset}/{model}.log",
    shell:
        """
        gradrank evaluate-folds {params.folder} \
            --data {input.data} \
            --params {params.values:q} \
            --seed {params.seed} \
            --conventions {params.conventions} \
            --metrics {params.metrics} \
            > {log} 2>&1
        """
