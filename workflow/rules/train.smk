# Train one model on one fold with one seed.
#
# Needs: data/parquet/<dataset>/. Some models also need data/pairs/<dataset>/ or the scores of other models.
# Makes: results/<dataset>/<model>/fold<k>/ with the model, its scores, its history and the stamp spec.json, which is
# written last. Each further seed has a subfolder seed<s>/ with the same files. timing.json is not an
# output, because it differs between two runs.


rule train:
    "Train one model on one fold with one seed."
    input:
        lambda wc: plan.training_inputs(wc.dataset, wc.model, wc.fold),
        data="data/parquet/{dataset}/collection.json",
    output:
        spec="results/{dataset}/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/{model}/fold{fold}/scores.parquet",
        history="results/{dataset}/{model}/fold{fold}/history.parquet",
        model=directory("results/{dataset}/{model}/fold{fold}/model"),
    log:
        "logs/train/{dataset}/{model}/fold{fold}.log",
    wildcard_constraints:
        model=f"(?!({IMPORTED})/){METHOD}",
        fold=FOLD,
    group:
        lambda wc: plan.group(wc.dataset, wc.model, wc.fold)
    conda:
        "../envs/gradrank.yaml"
    params:
        code=lambda wc: plan.training_code(wc.model),
        model=lambda wc: plan.training_options(wc.dataset, wc.model),
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),  # not an option; a changed definition reruns the job
        fold=lambda wc: "--fold {} --seed {}".format(*plan.fold_and_seed(wc.fold)),
        data=subpath(input.data, parent=True),
        out=subpath(output.spec, parent=True),
    shell:
        """
        gradrank train \
            {params.model} \
            --data {params.data} \
            {params.fold} \
            --convention {params.convention} \
            --code {params.code} \
            --out {params.out} \
            >{log} 2>&1
        """


onstart:
    for note in plan.member_notes():
        print(note, file=sys.stderr)
