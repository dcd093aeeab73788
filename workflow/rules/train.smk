# Train one model on one fold with one seed.
#
# Needs: data/parquet/<dataset>/. Some models also need data/pairs/<dataset>/ or the scores of other models.
# Makes: results/<dataset>/methods/<model>/fold<k>/ with the model, its scores, its history and the stamp spec.json, which is
# written last. Each further seed has a subfolder seed<s>/ with the same files. timing.json is not an
# output, because it differs between two runs.


rule train:
    "Train one model on one fold with one seed."
    input:
        lambda wc: copied(plan.training_files(wc.dataset, wc.model, wc.fold)),
        members=lambda wc: plan.member_scores(wc.dataset, wc.model, wc.fold),
        pairs=lambda wc: plan.training_pairs(wc.dataset, wc.model),
        data="data/parquet/{dataset}/collection.json",
    output:
        spec="results/{dataset}/methods/{model}/fold{fold}/spec.json",
        scores="results/{dataset}/methods/{model}/fold{fold}/scores.parquet",
        history="results/{dataset}/methods/{model}/fold{fold}/history.parquet",
        model=directory("results/{dataset}/methods/{model}/fold{fold}/model"),
    log:
        "logs/train/{dataset}/{model}/fold{fold}.log",
    benchmark:
        "logs/train/{dataset}/{model}/fold{fold}.tsv"
    wildcard_constraints:
        model=f"(?!({IMPORTED})/){METHOD}",
        fold=FOLD,
    group:
        lambda wc: plan.group(wc.dataset, wc.model, wc.fold)
    conda:
        "../envs/gradrank.yaml"
    threads: lambda wc: settings.threads(wc.model)
    params:
        code=lambda wc: plan.training_code(wc.model),
        model=lambda wc: plan.model_options(wc.model) + plan.gain_option(wc.dataset),
        pairs=lambda _, input: f"--pairs {Path(input.pairs[0]).parent}" if input.pairs else "",
        members=lambda _, input: f"--members {Path(input.members[0]).parents[3]}" if input.members else "",
        convention=lambda wc: settings.convention(wc.dataset),
        definition=lambda wc: plan.convention_definition(wc.dataset),  # not an option; a changed definition reruns the job
        fold=lambda wc: "--fold {} --seed {}".format(*plan.fold_and_seed(wc.fold)),
        data=subpath(input.data, parent=True),
        out=subpath(output.spec, parent=True),
    shell:
        """
        gradrank train \
            {params.model} \
            {params.pairs} \
            {params.members} \
            --data {params.data} \
            {params.fold} \
            --convention {params.convention} \
            --threads {threads} \
            --code {params.code} \
            --out {params.out} \
            >{log} 2>&1
        """


onstart:
    for note in (*plan.skip_notes(), *plan.member_notes()):
        print(note, file=sys.stderr)
