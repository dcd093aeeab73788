"""Fetching from folders and archives: layouts, checksums, damaged archives and unsafe members."""

import hashlib
import shutil
import stat
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed
from gradrank.data.sources import archive as archive_module
from gradrank.data.sources.catalogue import Archive
from gradrank.data.sources.fetch import fetch
from made_archives import FILES, KINDS, NORM, data, entry, pack, sha, tiny, tree, unpack


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "raw" / "tiny"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("above", ["", "./", "extra/"])
def test_an_archive_becomes_the_layout_whatever_folder_contains_its_root(tmp_path, out, kind, above):
    packed = tiny(tmp_path / "mirror", kind, above)
    listed = entry(Archive(name=packed.name, sha256=["0" * 64, sha(packed.read_bytes())]))
    described = fetch(listed, out, str(packed.parent))
    assert data(out) == FILES
    assert described == read_sealed(out / "fetched.json")
    assert described == {
        "dataset": "tiny",
        "source": str(packed),
        "archive_sha256": sha(packed.read_bytes()),
        "files": {name: {"sha256": sha(FILES[name]), "bytes": len(FILES[name])} for name in sorted(FILES)},
    }
    assert list(out.parent.iterdir()) == [out]


def test_a_fetched_data_set_is_not_fetched_again(tmp_path, out):
    packed = tiny(tmp_path / "mirror")
    first = fetch(entry(Archive(name=packed.name)), out, str(packed.parent))
    shutil.rmtree(packed.parent)
    assert fetch(entry(Archive(name=packed.name)), out, None) == first


@pytest.mark.parametrize("place", ["Tiny/Norm", "tiny", "Tiny", "tiny/Tiny/Norm"])
def test_a_folder_with_the_unpacked_files_is_accepted(tmp_path, out, place):
    unpack(tmp_path / "mirror" / place)
    before = tree(tmp_path / "mirror")
    described = fetch(entry(Archive(name="Tiny.zip")), out, str(tmp_path / "mirror"))
    assert data(out) == FILES and tree(tmp_path / "mirror") == before
    assert described["source"] == str(tmp_path / "mirror" / place)


def test_files_of_one_split_are_renamed(tmp_path, out):
    names = {"set1.train.txt": "train.txt", "set1.valid.txt": "vali.txt", "set1.test.txt": "test.txt"}
    (tmp_path / "mirror/tiny").mkdir(parents=True)
    for name in names:
        (tmp_path / "mirror/tiny" / name).write_text(name)
    fetch(entry(folds=1, root="", rename=names), out, str(tmp_path / "mirror"))
    assert data(out) == {new: name.encode() for name, new in names.items()}


def test_files_copied_by_hand_are_accepted_if_there_is_no_other_source(out):
    unpack(out)
    (out / "notes.txt").write_text("mine")
    described = fetch(entry(Archive(name="Tiny.zip")), out)
    assert described["source"] == "in place"
    assert data(out) == {**FILES, "notes.txt": b"mine"}


def test_a_zip_packed_by_an_unknown_method_is_refused(tmp_path):
    path = tiny(tmp_path / "mirror", "zip")
    content = bytearray(path.read_bytes())
    for header, place in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        content[content.index(header) + place] = 77
    path.write_bytes(content)
    with pytest.raises(GradrankError, match=r"Tiny\.zip: .*compression"):
        fetch(entry(Archive(name="Tiny.zip")), tmp_path / "out", str(tmp_path / "mirror"))


def test_without_a_source_one_message_names_all_remedies(tmp_path, out):
    with pytest.raises(GradrankError) as error:
        fetch(entry(Archive(name="Tiny.zip"), Archive(name="Tiny.rar")), out, str(tmp_path / "absent"))
    parts = ("Tiny.zip or Tiny.rar", "no such folder", "Ask for it.", "https://example.org/tiny", "GRADRANK_MIRROR")
    assert all(part in str(error.value) for part in parts)
    assert not out.exists()


def test_artificial_data_are_not_fetched(out):
    with pytest.raises(GradrankError, match="gradrank generate net"):
        fetch("synthetic_net", out)


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_wrong_checksum_is_refused_with_both_checksums_and_no_file_stays(tmp_path, out, kind):
    packed = tiny(tmp_path / "mirror")
    wrong = "ab" * (32 if kind == "sha256" else 16)
    with pytest.raises(GradrankError) as error:
        fetch(entry(Archive(name=packed.name, **{kind: [wrong]})), out, str(packed.parent))
    assert wrong in str(error.value)
    assert hashlib.new(kind, packed.read_bytes()).hexdigest() in str(error.value)
    assert packed.exists() and not tree(tmp_path / "raw")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95, -1])
def test_a_truncated_archive_is_refused(tmp_path, out, kind, keep):
    packed = tiny(tmp_path / "mirror", kind)
    content = packed.read_bytes()
    packed.write_bytes(content[:-1] if keep == -1 else content[: int(keep * len(content))])
    with pytest.raises(GradrankError, match="truncated or damaged"):
        fetch(entry(Archive(name=packed.name)), out, str(packed.parent))
    assert not tree(tmp_path / "raw")


@pytest.mark.parametrize("kind", ("tar.xz", "tar.gz"))
def test_a_damaged_byte_is_refused_at_any_position(tmp_path, out, kind):
    packed = tiny(tmp_path / "mirror", kind)
    content = bytearray(packed.read_bytes())
    for position in range(30, len(content), len(content) // 12):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        packed.write_bytes(damaged)
        with pytest.raises(GradrankError):
            fetch(entry(Archive(name=packed.name)), out, str(packed.parent))


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({name: content for name, content in NORM.items() if "Fold3/vali" not in name}, r"lacks Fold3/vali\.txt"),
        (NORM | {f"again/{name}": b"" for name in NORM}, r"two files claim to be Fold1/train\.txt"),
    ],
)
def test_an_archive_with_missing_or_ambiguous_files_is_refused(tmp_path, out, members, reason):
    pack(tmp_path / "mirror/Tiny.zip", members)
    with pytest.raises(GradrankError, match=reason):
        fetch(entry(Archive(name="Tiny.zip")), out, str(tmp_path / "mirror"))


def _tar_member(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


INSIDE = "Tiny/Norm/Fold1/train.txt"
UNSAFE = {
    "dots.tar.gz": ({"Tiny/../../../outside.txt": b"x"}, ()),
    "dots.zip": ({"../outside.txt": b"x"}, ()),
    "backslash.zip": ({"..\\outside.txt": b"x"}, ()),
    "drive.zip": ({"C:/outside.txt": b"x"}, ()),
    "dots-to-a-wanted-name.tar.xz": ({f"../{INSIDE}": b"x"}, ()),
    "absolute.tar.xz": ({"/tmp/outside.txt": b"x"}, ()),
    "absolute.zip": ({f"/{INSIDE}": b"x"}, ()),
    "symlink.tar.gz": ({}, (_tar_member(INSIDE, tarfile.SYMTYPE, "/etc/passwd"),)),
    "symlinked-folder.tar.gz": ({}, (_tar_member("Tiny/Norm/Fold1", tarfile.SYMTYPE, "../../.."),)),
    "hardlink.tar.xz": ({}, (_tar_member(INSIDE, tarfile.LNKTYPE, "/etc/passwd"),)),
    "device.tar.gz": ({}, (_tar_member(INSIDE, tarfile.CHRTYPE),)),
    "pipe.tgz": ({}, (_tar_member(INSIDE, tarfile.FIFOTYPE),)),
    "symlink.zip": ({}, (_zip_link(INSIDE),)),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_an_archive_with_an_unsafe_member_is_refused_and_writes_no_file(tmp_path, out, name):
    members, special = UNSAFE[name]
    pack(tmp_path / "mirror" / name, dict([*NORM.items()][3:]) | members, *special)
    before = tree(tmp_path)
    with pytest.raises(GradrankError, match="refused"):
        fetch(entry(Archive(name=name)), out, str(tmp_path / "mirror"))
    assert tree(tmp_path) == before


@pytest.mark.parametrize("kind", ["tar.xz", "zip"])
def test_an_archive_bomb_is_refused_before_it_is_written(tmp_path, out, kind, monkeypatch):
    monkeypatch.setattr(archive_module, "FLOOR", 1 << 20)
    pack(tmp_path / f"mirror/Tiny.{kind}", dict.fromkeys(NORM, bytes(1 << 20)))
    with pytest.raises(GradrankError, match="archive bomb"):
        fetch(entry(Archive(name=f"Tiny.{kind}")), out, str(tmp_path / "mirror"))
    monkeypatch.setattr(archive_module, "MEMBERS", 10)
    tiny(tmp_path / "mirror", kind)
    with pytest.raises(GradrankError, match=r"11 files .* archive bomb"):
        fetch(entry(Archive(name=f"Tiny.{kind}")), out, str(tmp_path / "mirror"))


@pytest.fixture
def bsdtar(tmp_path, monkeypatch):
    """Put a stand-in for bsdtar, which copies a folder instead of unpacking an archive, on an otherwise empty PATH."""
    content = tmp_path / "rar-content"
    program = tmp_path / "bin" / "bsdtar"
    program.parent.mkdir()
    script = tmp_path / "bsdtar.py"
    script.write_text(
        "import shutil, sys\n"
        "assert sys.argv[1:3] == ['-x', '-f'] and sys.argv[4] == '-C'\n"
        f"shutil.copytree({str(content)!r}, sys.argv[5], symlinks=True, dirs_exist_ok=True)\n"
    )
    # The shell starts Python, because the path of an interpreter after #! must not contain spaces.
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/Tiny.rar").write_bytes(b"Rar!" * 1000)
    return content


def test_a_rar_is_unpacked_by_an_installed_program(tmp_path, out, bsdtar):
    unpack(bsdtar / "Tiny/Norm")
    fetch(entry(Archive(name="Tiny.rar")), out, str(tmp_path / "mirror"))
    assert data(out) == FILES and list(out.parent.iterdir()) == [out]
    shutil.rmtree(out)
    (bsdtar / "Tiny/link.txt").symlink_to("/etc/passwd")
    with pytest.raises(GradrankError, match=r"refused: 'Tiny/link\.txt' is a link"):
        fetch(entry(Archive(name="Tiny.rar")), out, str(tmp_path / "mirror"))
    shutil.rmtree(bsdtar)
    with pytest.raises(GradrankError, match="bsdtar failed with status 1"):
        fetch(entry(Archive(name="Tiny.rar")), out, str(tmp_path / "mirror"))
    assert not tree(tmp_path / "raw")


def test_a_rar_without_a_program_names_the_programs_to_install(tmp_path, out, bsdtar, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GradrankError, match=r"bsdtar, unrar, unar .*GRADRANK_MIRROR"):
        fetch(entry(Archive(name="Tiny.rar")), out, str(tmp_path / "mirror"))


@pytest.mark.parametrize(("name", "files"), [("mq2007", 20), ("ohsumed", 15)])
def test_the_real_archives_have_the_official_layout(mirror, tmp_path, name, files):
    described = fetch(name, tmp_path / name, str(mirror))
    assert len(described["files"]) == files
    hashes = {file: value["sha256"] for file, value in described["files"].items()}
    for fold in range(1, 6):  # the validation part of fold k is the test part of fold k-1
        assert hashes[f"Fold{fold}/vali.txt"] == hashes[f"Fold{(fold - 2) % 5 + 1}/test.txt"]
