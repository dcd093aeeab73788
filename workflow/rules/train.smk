# Needs: data/parquet/<dataset>.parquet, and the pairs or other models' scores where the model asks for them.
# Makes: results/<dataset>/<model>/fold<k>/: the model, its scores, its history, its specification.


rule train:
    input:
        unpack(needs_of),
        data="data/parquet/{dataset}.parquet",
        meta="data/parquet/{dataset}.json",
    output:
        spec="results/{dataset}/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/{model}/fold{fold}/scores.parquet",
        history="results/{dataset}/{model}/fold{fold}/history.parquet",
        timing="results/{dataset}/{model}/fold{fold}/timing.json",
        model=directory("results/{dataset}/{model}/fold{fold}/model"),
    log:
        "logs/train/{dataset}/{model}/fold{fold}.log",
    # On a cluster the folds of a model and their evaluation are one job: one submission instead of six.
    group:
        "{dataset}.{model}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: training_code(wc.model),
        model=lambda wc: model_options(wc.model) + needs_options(wc.model, wc.dataset),
        seed=params.seed,
    shell:
        """
        gradrank train \
            {params.model} \
            --data {input.data} \
            --fold {wildcards.fold} \
            --seed {params.seed} \
            --out results/{wildcards.dataset}/{wildcards.model}/fold{wildcards.fold} \
            >{log} 2>&1
        """
