import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.layout import ROTATION, check_copies, find_layout

PARTS = {part: f"0 qid:{part}0 1:1\n1 qid:{part}1 1:2\n" for part in range(1, 6)}
# Written out once more from the table of LETOR 4.0: an oracle for the rotation and the recovery of parts.
FOLDS = {1: ("123", "4", "5"), 2: ("234", "5", "1"), 3: ("345", "1", "2"), 4: ("451", "2", "3"), 5: ("512", "3", "4")}


def write_parts(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for part, text in PARTS.items():
        (folder / f"S{part}.txt").write_text(text)


def write_folds(folder):
    for fold, splits in FOLDS.items():
        (folder / f"Fold{fold}").mkdir(parents=True)
        for name, parts in zip(("train", "vali", "test"), splits, strict=True):
            (folder / f"Fold{fold}" / f"{name}.txt").write_text("".join(PARTS[int(part)] for part in parts))


@pytest.mark.parametrize("write", [(write_parts,), (write_folds,), (write_parts, write_folds)])
def test_five_folds(tmp_path, write):
    for files in write:
        files(tmp_path)
    layout = find_layout(tmp_path)
    check_copies(layout)
    assert layout.kind == "five_fold"
    assert {part: path.read_text() for part, path in layout.sources.items()} == PARTS
    assert sorted(layout.files) == sorted(tmp_path.rglob("*.txt"))
    folds = [{split: "".join(map(str, parts)) for split, parts in fold.items()} for fold in layout.folds]
    assert folds == [dict(zip(("train", "vali", "test"), splits, strict=True)) for splits in FOLDS.values()]


@pytest.mark.parametrize("fold", range(1, 6))
@pytest.mark.parametrize("split", ["train", "vali"])
def test_fold_that_is_not_the_rotation(tmp_path, fold, split):
    write_folds(tmp_path)
    file = tmp_path / f"Fold{fold}" / f"{split}.txt"
    lines = file.read_text().splitlines(keepends=True)
    changed = [*lines[:-1], lines[-1].replace("1:2", "1:3")]
    for text, line in (
        ("".join(changed), len(lines)),
        ("".join(lines[:-1]), len(lines)),
        ("".join(lines) + "0 qid:7 1:1\n", len(lines) + 1),
        ("0 qid:7 1:1\n" + "".join(lines), 1),
    ):
        file.write_text(text)
        with pytest.raises(GradrankError, match=rf"{split}\.txt: line {line}: differs from .*Fold\d/test\.txt"):
            check_copies(find_layout(tmp_path))


def test_test_file_that_is_not_its_part(tmp_path):
    write_parts(tmp_path)
    write_folds(tmp_path)
    (tmp_path / "Fold2" / "test.txt").write_text(PARTS[2])
    with pytest.raises(GradrankError, match=r"Fold2/test\.txt: line 1: differs from .*S1\.txt"):
        check_copies(find_layout(tmp_path))


def test_one_fold_and_single_file(tmp_path):
    for split in ("train", "vali", "test"):
        (tmp_path / f"{split}.txt").write_text(split)
    layout = find_layout(tmp_path)
    assert (layout.kind, layout.folds) == ("one_fold", [{"train": [1], "vali": [2], "test": [3]}])
    assert [path.read_text() for path in layout.sources.values()] == ["train", "vali", "test"]
    layout = find_layout(tmp_path / "train.txt")
    assert (layout.kind, layout.folds) == ("single_file", ROTATION)
    assert set(layout.sources) == {1, 2, 3, 4, 5} and layout.files == [tmp_path / "train.txt"]


def test_collection_below_the_folder(tmp_path):
    write_folds(tmp_path / "OHSUMED" / "QueryLevelNorm")
    assert find_layout(tmp_path).files == find_layout(tmp_path / "OHSUMED" / "QueryLevelNorm").files
    write_parts(tmp_path / "OHSUMED" / "Feature-min")
    with pytest.raises(GradrankError, match=r"more than one collection.*Feature-min, .*QueryLevelNorm"):
        find_layout(tmp_path)


def test_incomplete_collection_names_what_is_missing(tmp_path):
    write_parts(tmp_path / "a")
    (tmp_path / "a" / "S4.txt").unlink()
    with pytest.raises(GradrankError, match=r"S4\.txt: expected"):
        find_layout(tmp_path)
    write_folds(tmp_path / "b")
    (tmp_path / "b" / "Fold3" / "test.txt").unlink()
    with pytest.raises(GradrankError, match=r"Fold3/test\.txt: expected"):
        find_layout(tmp_path / "b")


def test_unrecognised_folder_says_what_is_there(tmp_path):
    with pytest.raises(GradrankError, match="found nothing"):
        find_layout(tmp_path)
    (tmp_path / "training.csv").touch()
    (tmp_path / "more").mkdir()
    with pytest.raises(GradrankError, match=r"expected S1\.txt to S5\.txt.*found more, training\.csv"):
        find_layout(tmp_path)
    with pytest.raises(GradrankError, match="no such file or folder"):
        find_layout(tmp_path / "absent")
