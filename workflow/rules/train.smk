# Needs: data/parquet/<dataset>/, and the pairs or other models' scores where the model asks for them.
# Makes: results/<dataset>/<model>/fold<k>/: the model, its scores, its history, its specification; and timing.json, which
# is no output: no two runs give the same one, and nothing is trained again for the want of it. Of `run.seeds` the first
# has these folders, each further one a folder seed<s> in them.


rule train:
    input:
        needs_of,
        data="data/parquet/{dataset}/collection.json",
    output:
        spec="results/{dataset}/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/{model}/fold{fold}/scores.parquet",
        history="results/{dataset}/{model}/fold{fold}/history.parquet",
        model=directory("results/{dataset}/{model}/fold{fold}/model"),
    log:
        "logs/train/{dataset}/{model}/fold{fold}.log",
    wildcard_constraints:
        model=TRAINED,
        fold=FOLD,
    group:
        GROUP
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: training_code(wc.model),
        model=lambda wc: training_options(wc.model, wc.dataset),
        fold=lambda wc: "--fold {} --seed {}".format(*fold_and_seed(wc.fold)),
    shell:
        """
        gradrank train \
            {params.model} \
            --data "$(dirname {input.data})" \
            {params.fold} \
            --out "$(dirname {output.spec})" \
            >{log} 2>&1
        """
