# Report the replacement of each rule of version 0.1 that was removed. These rules need and make nothing; they always
# fail.


for former in FORMER_RULES:

    rule:
        name:
            former
        log:
            f"logs/{former}.log",
        localrule: True
        conda:
            "../envs/gradrank.yaml"
        params:
            command=former.replace("_", "-"),
        shell:
            "gradrank {params.command} >{log} 2>&1"
