# Needs: data/parquet/<dataset>.parquet, and the pairs or other models' scores where the model asks for them.
# Makes: results/<dataset>/<model>/fold<k>/: the model, its scores, its history, its timing, its specification. What no
# other rule reads is no output: of ten thousand jobs each file costs seconds of planning, and spec.json, the last to
# be written, says that all are there.


rule train:
    input:
        needs_of,
        data="data/parquet/{dataset}.parquet",
    output:
        spec="results/{dataset}/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/{model}/fold{fold}/scores.parquet",
        model=directory("results/{dataset}/{model}/fold{fold}/model"),
    log:
        "logs/train/{dataset}/{model}/fold{fold}.log",
    wildcard_constraints:
        model=TRAINED,
    # On a cluster the folds of a model and their evaluation are one job: one submission instead of six.
    group:
        "{dataset}.{model}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: training_code(wc.model),
        model=lambda wc: training_options(wc.model, wc.dataset),
    shell:
        """
        gradrank train \
            {params.model} \
            --data {input.data} \
            --fold {wildcards.fold} \
            --out "$(dirname {output.spec})" \
            >{log} 2>&1
        """
