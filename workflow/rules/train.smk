# Needs: data/parquet/<dataset>.parquet, and the pairs or other models' scores where the model asks for them.
# Makes: results/<dataset>/<model>/fold<k>/: the model, its scores, its history, its specification.


rule train:
    input:
        data="data/parquet/{dataset}.parquet",
        meta="data/parquet/{dataset}.json",
        pairs=pairs_of,
        scores=of_members("scores.parquet"),
        specs=of_members("spec.json"),
        code=lambda wc: sources("gradrank.learning.job", study.model(wc.model).__module__),
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
        out=subpath(output.spec, parent=True),
        model=lambda wc: study.models[wc.model].model,
        values=lambda wc: as_json(study.models[wc.model].params),
        pairs=lambda wc, input: f"--pairs {input.pairs}" if input.pairs else "",
        members=lambda wc, input: f"--members results/{wc.dataset}" if input.scores else "",
        seed=study.seed,
    shell:
        """
        gradrank train \
            --model {params.model} \
            --data {input.data} {params.pairs} {params.members} \
            --fold {wildcards.fold} \
            --params {params.values:q} \
            --seed {params.seed} \
            --out {params.out} \
            >{log} 2>&1
        """
