# Needs: data/parquet/<dataset>.parquet. Makes: data/pairs/<dataset>.parquet, once for all folds and models.


rule pairs:
    input:
        data="data/parquet/{dataset}.parquet",
    output:
        "data/pairs/{dataset}.parquet",
    log:
        "logs/pairs/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("pairs"),
    shell:
        """
        gradrank pairs \
            --data {input.data} \
            --out {output} \
            >{log} 2>&1
        """
