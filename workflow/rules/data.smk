# Fetch or generate the text of a data set, and store it as Parquet.
#
# Needs: a mirror (GRADRANK_MIRROR) or the network, or the user's own files.
# Makes: data/raw/<dataset>/ with the text in its official layout, and data/parquet/<dataset>/ with one file per part.
# The stamps fetched.json and collection.json have the checksum of each file. Later rules compare only the stamps, so a
# folder that is written again with equal content reruns nothing.


rule data:
    "Store the data sets of the run."
    input:
        lambda _: [file for dataset in settings.run.datasets for file in plan.stored_stamps(dataset)],
    localrule: True


rule fetch:
    "Fetch the text of a data set of the catalogue, and check its checksums."
    output:
        stamp=local("data/raw/{dataset}/fetched.json"),
        # `update`: a failed job leaves the files of an earlier one, and a user's archive, in the folder.
        text=local(update(directory("data/raw/{dataset}"))),
    log:
        "logs/fetch/{dataset}.log",
    benchmark:
        "logs/fetch/{dataset}.tsv"
    wildcard_constraints:
        dataset="|".join(FETCHED),
    localrule: True  # compute nodes often have no network
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("fetch"),
        out=subpath(output.stamp, parent=True),
    shell:
        """
        gradrank fetch {wildcards.dataset} \
            --out {params.out} \
            2>&1 | tee {log}
        """


rule generate:
    "Generate the text of an artificial data set."
    output:
        stamp=local("data/raw/{dataset}/fetched.json"),
        # `update`: a failed job leaves the files of an earlier one, and a user's archive, in the folder.
        text=local(update(directory("data/raw/{dataset}"))),
    log:
        "logs/generate/{dataset}.log",
    benchmark:
        "logs/generate/{dataset}.tsv"
    wildcard_constraints:
        dataset="|".join(GENERATED),
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("generate"),
        target=lambda wc: plan.generator_options(wc.dataset),
        seed=settings.seed,
        out=subpath(output.stamp, parent=True),
    shell:
        """
        gradrank generate {params.target} \
            --seed {params.seed} \
            --out {params.out} \
            2>{log}
        """


rule parse:
    "Check every line of the text, and store the collection as Parquet."
    input:
        lambda wc: [local(file) for file in plan.text_files(wc.dataset)],
    output:
        stamp="data/parquet/{dataset}/collection.json",
        parts=directory("data/parquet/{dataset}"),
    log:
        "logs/parse/{dataset}.log",
    benchmark:
        "logs/parse/{dataset}.tsv"
    localrule: not SHARED
    conda:
        "../envs/gradrank.yaml"
    threads: 2
    params:
        code=code_digest("parse"),
        content=lambda wc: plan.content_digest(plan.own_files(wc.dataset)),
        path=lambda wc: plan.own_path(wc.dataset) or f"data/raw/{wc.dataset}",
        options=lambda wc: plan.parse_options(wc.dataset),
        # Snakemake does not record a parameter that is a function of the output, so another method reruns nothing.
        complete=lambda wc, output: complete_for_option(plan, wc.dataset),
        seed=settings.seed,
        out=subpath(output.stamp, parent=True),
    shell:
        """
        gradrank parse {params.path:q} \
            --dataset {wildcards.dataset} \
            {params.options} \
            {params.complete} \
            --seed {params.seed} \
            --out {params.out} \
            >{log} 2>&1
        """
