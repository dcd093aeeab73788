# Needs: a mirror (GRADRANK_MIRROR), the network, or a user's own files.
# Makes: data/raw/<dataset>/ in the official layout, data/parquet/<dataset>/, a Parquet file a part and
# collection.json, which names the SHA-256 of each and stands for them all. The stage's target, `data`, includes the pairs.


rule data:
    input:
        lambda _: expand(STORED, dataset=requested()),
    localrule: True


rule fetch:
    output:
        "data/raw/{dataset}/fetched.json",
    log:
        "logs/fetch/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(name for name, entry in catalogue().items() if not entry.generator),
    localrule: True  # nodes often have no network
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("fetch"),
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank fetch {wildcards.dataset} \
            --out {params.out} \
            2>&1 | tee {log}
        """


rule generate:
    output:
        "data/raw/{dataset}/fetched.json",
    log:
        "logs/generate/{dataset}.log",
    wildcard_constraints:
        dataset="|".join(name for name, entry in catalogue().items() if entry.generator),
    localrule: True
    conda:
        "../envs/gradrank.yaml"
    params:
        code=code("generate"),
        target=lambda wc: catalogue()[wc.dataset].generator,
        size=lambda wc: size_options(wc.dataset),
        seed=params.seed,
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank generate {params.target} \
            {params.size} \
            --seed {params.seed} \
            --out {params.out} \
            2>{log}
        """


rule parse:
    input:
        text=text_of,
    output:
        "data/parquet/{dataset}/collection.json",
    log:
        "logs/parse/{dataset}.log",
    conda:
        "../envs/gradrank.yaml"
    threads: 2
    params:
        code=code("parse"),
        path=lambda wc: own_path(wc.dataset) or f"data/raw/{wc.dataset}",
        options=lambda wc: parse_options(wc.dataset),
        seed=params.seed,
        out=subpath(output[0], parent=True),
    shell:
        """
        gradrank parse {params.path:q} \
            --dataset {wildcards.dataset} \
            {params.options} \
            --seed {params.seed} \
            --out {params.out} \
            >{log} 2>&1
        """
