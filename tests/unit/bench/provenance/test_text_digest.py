"""The checksum of the text of a data set."""

from gradrank.bench.provenance.verify import sha256_of_text
from gradrank.data.layout import FoldOptions
from gradrank.data.parse import parse


def test_a_file_with_too_few_queries_for_five_folds_has_the_checksum_that_parsing_stored(tmp_path):
    text = tmp_path / "data.txt"
    text.write_text("".join(f"{k % 2} qid:{k // 2} 1:{k}\n" for k in range(6)))
    description = parse(text, tmp_path / "out", 1, "mine", options=FoldOptions(folds=3))
    assert sha256_of_text(text, description.get("files")) == description["source_sha256"]
