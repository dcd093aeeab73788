import shutil
from itertools import pairwise

import pytest

from gradrank.base.errors import GradrankError
from gradrank.data.fold_files import check_copies, is_repeated
from gradrank.data.layout import ROTATION, FoldOptions, Rotation, find_layout, rotation

PARTS = {part: f"0 qid:{part}0 1:1\n1 qid:{part}1 1:2\n" for part in range(1, 6)}
# Written out once more from the table of LETOR 4.0: an oracle for the rotation and the recovery of parts.
FOLDS = {1: ("123", "4", "5"), 2: ("234", "5", "1"), 3: ("345", "1", "2"), 4: ("451", "2", "3"), 5: ("512", "3", "4")}


def rotation_of(folder) -> Rotation:
    found = find_layout(folder).rotation
    assert found is not None
    return found


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
    check_copies(rotation_of(tmp_path))
    assert (layout.kind, layout.folds) == ("parts" if write_parts in write else "folds", 5)
    assert {part: path.read_text() for part, path in rotation_of(tmp_path).sources.items()} == PARTS
    assert sorted(layout.files) == sorted(tmp_path.rglob("*.txt"))
    folds = [{split: "".join(map(str, parts)) for split, parts in fold.items()} for fold in ROTATION]
    assert folds == [dict(zip(("train", "vali", "test"), splits, strict=True)) for splits in FOLDS.values()]


@pytest.mark.parametrize("fold", range(1, 6))
@pytest.mark.parametrize("split", ["train", "vali"])
def test_fold_that_is_not_the_rotation(tmp_path, fold, split):
    write_folds(tmp_path)
    file = tmp_path / f"Fold{fold}" / f"{split}.txt"
    lines = file.read_text().splitlines(keepends=True)
    changed = [*lines[:-1], lines[-1].replace("1:2", "1:3")]
    assert is_repeated(rotation_of(tmp_path))
    for text, line in (
        ("".join(changed), len(lines)),
        ("".join(lines[:-1]), len(lines)),
        ("".join(lines) + "0 qid:7 1:1\n", len(lines) + 1),
        ("0 qid:7 1:1\n" + "".join(lines), 1),
    ):
        file.write_text(text)
        assert not is_repeated(rotation_of(tmp_path))
        write_parts(tmp_path)
        with pytest.raises(GradrankError, match=rf"{split}\.txt: line {line}: differs from .*S\d\.txt"):
            check_copies(rotation_of(tmp_path))
        for part in PARTS:
            (tmp_path / f"S{part}.txt").unlink()


def test_test_file_that_is_not_its_part(tmp_path):
    write_parts(tmp_path)
    write_folds(tmp_path)
    (tmp_path / "Fold2" / "test.txt").write_text(PARTS[2])
    with pytest.raises(GradrankError, match=r"Fold2/test\.txt: line 1: differs from .*S1\.txt"):
        check_copies(rotation_of(tmp_path))


def test_one_fold_and_single_file(tmp_path):
    for split in ("train", "vali", "test"):
        (tmp_path / f"{split}.txt").write_text(split)
    layout = find_layout(tmp_path)
    assert (layout.kind, layout.folds) == ("one_fold", 1)
    assert {split: path.read_text() for split, path in layout.splits[0].items()} == {
        split: split for split in ("train", "vali", "test")
    }
    layout = find_layout(tmp_path / "train.txt")
    assert (layout.kind, layout.folds, layout.files) == ("single_file", 5, [tmp_path / "train.txt"])
    assert find_layout(tmp_path / "train.txt", FoldOptions(folds=3)).folds == 3


def test_any_number_of_folds(tmp_path):
    write_folds(tmp_path)
    for fold in (5, 4, 3, 2):
        shutil.rmtree(tmp_path / f"Fold{fold}")
        layout = find_layout(tmp_path)
        assert (layout.folds, layout.rotation) == (fold - 1, None)
    assert layout.kind == "one_fold"
    shutil.copytree(tmp_path / "Fold1", tmp_path / "fold12")
    with pytest.raises(GradrankError, match=r"lacks Fold2/train\.txt, Fold2/test\.txt, .*Fold11/test\.txt: expected"):
        find_layout(tmp_path)


@pytest.mark.parametrize("folds", range(3, 13))
@pytest.mark.parametrize("first", [1, 2])
def test_a_rotation_uses_each_part_once_in_each_fold(folds, first):
    rotated = rotation(folds, first)
    assert [fold["test"] for fold in rotated] == [[(first - 1 + k) % folds + 1] for k in range(folds)]
    assert all(fold["vali"] == before["test"] for before, fold in pairwise(rotated))
    for fold in rotated:
        assert sorted(fold["train"] + fold["vali"] + fold["test"]) == list(range(1, folds + 1))


def test_options_that_do_not_apply(tmp_path):
    write_folds(tmp_path)
    for options in (FoldOptions(folds=3), FoldOptions(fold="f")):
        with pytest.raises(GradrankError, match="divide a single file"):
            find_layout(tmp_path, options)
    with pytest.raises(GradrankError, match="every fold has a validation part"):
        find_layout(tmp_path, FoldOptions(validation=0.2))
    (tmp_path / "Fold3/vali.txt").unlink()
    assert find_layout(tmp_path, FoldOptions(validation=0.2)).folds == 5
    file = tmp_path / "Fold1/train.txt"
    with pytest.raises(GradrankError, match="is text"):
        find_layout(file, FoldOptions(fold="f"))
    with pytest.raises(GradrankError, match="both `folds` and `fold`"):
        find_layout(file, FoldOptions(folds=3, fold="f"))
    with pytest.raises(GradrankError, match=r"6 queries.* at least 7"):
        find_layout(file, FoldOptions(folds=7))


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
