"""A misspelt target is answered with the names there are."""

from gradrank.pipeline.targets import answer


def test_the_nearest_name_is_first():
    told = answer("mq207", ["track", "mq2007", "mq2008", "all"])
    assert (
        told == "no target is called 'mq207'; those there are, the nearest first: mq2007, mq2008, all, track"
    )


def test_of_a_file_in_a_folder_snakemake_speaks():
    assert answer("results/mq207/summary.json", ["mq2007"]) is None
