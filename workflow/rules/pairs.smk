# Needs: data/parquet/<dataset>/, and a user's own pairs where params.yaml names some. Makes: data/pairs/<dataset>/, a
# Parquet file a part and pairs.json, once for all folds and models.


rule pairs:
    input:
        given_pairs,
        data="data/parquet/{dataset}/collection.json",
    output:
        "data/pairs/{dataset}/pairs.json",
    log:
        "logs/pairs/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("pairs"),
        options=lambda wc: pairs_options(wc.dataset),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank pairs \
            --data "$(dirname {input.data})" \
            {params.options} \
            --out {params.out} \
            >{log} 2>&1
        """
