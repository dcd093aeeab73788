# Needs: data/parquet/<dataset>/. Makes: data/pairs/<dataset>/, a Parquet file a part and pairs.json, once for all folds
# and models.


rule pairs:
    input:
        data="data/parquet/{dataset}/collection.json",
    output:
        "data/pairs/{dataset}/pairs.json",
    log:
        "logs/pairs/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("pairs"),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank pairs \
            --data "$(dirname {input.data})" \
            --out {params.out} \
            >{log} 2>&1
        """
