# Needs: the scores of a model's folds. Makes: results/<dataset>/<model>/per_query.parquet, from scores alone.


rule evaluate:
    input:
        data="data/parquet/{dataset}.parquet",
        scores=of_folds("scores.parquet"),
        specs=of_folds("spec.json"),
        code=sources("gradrank.evaluation.evaluate"),
    output:
        "results/{dataset}/{model}/per_query.parquet",
    log:
        "logs/evaluate/{dataset}/{model}.log",
    group:
        "{dataset}.{model}"
    conda:
        "../envs/gradrank.yaml"
    params:
        folder=subpath(output[0], parent=True),
        model=lambda wc: study.models[wc.model].model,
        values=lambda wc: as_json(study.models[wc.model].params),
        seed=study.seed,
        conventions=",".join(study.evaluation.conventions),
        metrics=",".join(study.evaluation.metrics),
    shell:
        """
        gradrank evaluate-folds {params.folder} \
            --model {params.model} \
            --data {input.data} \
            --params {params.values:q} \
            --seed {params.seed} \
            --conventions {params.conventions} \
            --metrics {params.metrics} \
            >{log} 2>&1
        """
