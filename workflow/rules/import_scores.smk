# Needs: data/parquet/<dataset>/ and the score files that params.yaml names. Makes: what `train` makes, without a
# model: results/<dataset>/<method>/fold<k>/ of a method from elsewhere.
from gradrank.evaluation.elsewhere import score_files


rule import_scores:
    input:
        lambda wc: list(map(str, score_files(scores_from(wc.model), wc.dataset, wc.fold).values())),
        data="data/parquet/{dataset}/collection.json",
    output:
        spec="results/{dataset}/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/{model}/fold{fold}/scores.parquet",
        history="results/{dataset}/{model}/fold{fold}/history.parquet",
        model=directory("results/{dataset}/{model}/fold{fold}/model"),
    log:
        "logs/import_scores/{dataset}/{model}/fold{fold}.log",
    wildcard_constraints:
        model="|".join(IMPORTED) or "(?!)",
    group:
        "{dataset}.{model}"
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("import_scores"),
        scores=lambda wc: scores_from(wc.model),
        seed=params.seeds[0],
    shell:
        """
        gradrank import-scores {params.scores:q} \
            --data "$(dirname {input.data})" \
            --fold {wildcards.fold} \
            --seed {params.seed} \
            --out "$(dirname {output.spec})" \
            >{log} 2>&1
        """
