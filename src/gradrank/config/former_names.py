"""Commands and rules of version 0.1 that no longer exist, each with its replacement."""

REPLACEMENTS = {
    "provenance": "`gradrank summary` writes the record as its last step",
    "study-provenance": "`gradrank study` writes the record as its last step",
    "snapshot": "use git or DVC to keep results, and `gradrank diff` to compare them",
    "restore": "use git or DVC to restore results, then run `snakemake`",
}
# Rules of the workflow still have these names. Each rule calls the command of its name, which says what to use instead.
FORMER_RULES = ["provenance", "study_provenance", "snapshot"]
