# Needs: data/parquet/<dataset>/, and the user's own pairs where params.yaml names a file of them.
# Makes: data/pairs/<dataset>/, one Parquet file per part and the stamp pairs.json, once for all folds and models.


rule pairs:
    input:
        lambda wc: plan.given_pairs(wc.dataset),
        data="data/parquet/{dataset}/collection.json",
    output:
        "data/pairs/{dataset}/pairs.json",
    log:
        "logs/pairs/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code_digest("pairs"),
        content=lambda wc: plan.content(plan.given_pairs(wc.dataset)),
        data=subpath(input.data, parent=True),
        options=lambda wc: plan.pairs_options(wc.dataset),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank pairs \
            --data {params.data} \
            {params.options} \
            --out {params.out} \
            >{log} 2>&1
        """
