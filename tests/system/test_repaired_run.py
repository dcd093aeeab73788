"""After `gradrank verify --repair`, a run restores every damaged file, and makes every deleted file again."""

from damaged_files import DELETED, damage_every_kind


def test_a_run_restores_damaged_and_deleted_files_with_equal_bytes(finished, rerun, tmp_path):
    damage_every_kind(rerun.root)
    rerun.gradrank("verify", "--repair", "--yes")
    for place in DELETED:
        if (rerun.root / place).exists():  # the repair may have deleted it
            (rerun.root / place).rename(tmp_path / place.replace("/", "-"))
    rerun.snakemake("--cores", "2")
    rerun.gradrank("verify")
    assert [place for place in DELETED if not (rerun.root / place).exists()] == []
    assert rerun.files() == finished.files()
    assert rerun.plan() == {}
