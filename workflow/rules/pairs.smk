# Form the document pairs that pairwise models train on, once for all folds and models.
#
# Needs: data/parquet/<dataset>/, and the file with the user's own pairs if params.yaml names one.
# Makes: data/pairs/<dataset>/ with one Parquet file per part and the stamp pairs.json.


rule pairs:
    "Form the document pairs of a data set."
    input:
        lambda wc: [local(file) for file in plan.given_pairs(wc.dataset)],
        lambda wc: copied([f"data/parquet/{wc.dataset}"]),
        data="data/parquet/{dataset}/collection.json",
    output:
        stamp="data/pairs/{dataset}/pairs.json",
        parts=directory("data/pairs/{dataset}"),
    log:
        "logs/pairs/{dataset}.log",
    benchmark:
        "logs/pairs/{dataset}.tsv"
    localrule: not SHARED
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("pairs"),
        content=lambda wc: plan.content_digest(plan.given_pairs(wc.dataset)),
        data=subpath(input.data, parent=True),
        options=lambda wc: plan.pairs_options(wc.dataset),
        out=subpath(output.stamp, parent=True),
    shell:
        """
        gradrank pairs \
            --data {params.data} \
            {params.options} \
            --out {params.out} \
            >{log} 2>&1
        """
