"""Fetching from archives and folders that are made here."""

import hashlib
import shutil
import stat
import sys
import tarfile
import zipfile

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed
from gradrank.data.sources import download as archive_module
from gradrank.data.sources import download as download_module
from gradrank.data.sources.catalogue import Archive
from gradrank.data.sources.fetch import fetch
from made_archive import FILES, KINDS, NORM, data, entry, known, pack, sha, tiny, tree, unpacked

pytestmark = pytest.mark.usefixtures("no_waiting")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("above", ["", "./", "extra/"])
def test_an_archive_becomes_the_layout_wherever_its_root_lies(tmp_path, out, kind, above):
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
def test_a_folder_with_the_files_unpacked_will_do(tmp_path, out, place):
    unpacked(tmp_path / "mirror" / place)
    before = tree(tmp_path / "mirror")
    described = fetch(entry(Archive(name="Tiny.zip")), out, str(tmp_path / "mirror"))
    assert data(out) == FILES and tree(tmp_path / "mirror") == before
    assert described["source"] == str(tmp_path / "mirror" / place)


def test_one_split_under_other_names(tmp_path, out):
    names = {"set1.train.txt": "train.txt", "set1.valid.txt": "vali.txt", "set1.test.txt": "test.txt"}
    (tmp_path / "mirror/tiny").mkdir(parents=True)
    for name in names:
        (tmp_path / "mirror/tiny" / name).write_text(name)
    fetch(entry(folds=1, root="", rename=names), out, str(tmp_path / "mirror"))
    assert data(out) == {new: name.encode() for name, new in names.items()}


def test_files_put_by_hand_into_the_folder_count_where_nothing_else_has_them(out):
    unpacked(out)
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


def test_nowhere_is_one_message_with_all_that_helps(tmp_path, out):
    with pytest.raises(GradrankError) as error:
        fetch(entry(Archive(name="Tiny.zip"), Archive(name="Tiny.rar")), out, str(tmp_path / "absent"))
    said = ("Tiny.zip or Tiny.rar", "no such folder", "Ask for it.", "https://example.org/tiny", "GRADRANK_MIRROR")
    assert all(part in str(error.value) for part in said)
    assert not out.exists()


def test_no_network_is_the_same_message_without_waiting(out, serve, monkeypatch):
    address, _ = serve(b"")
    closed = address.rsplit(":", 1)[0] + ":1"
    monkeypatch.setattr(download_module.time, "sleep", lambda _: pytest.fail("waited for no network"))
    with pytest.raises(GradrankError, match=r"(?s)no connection.*Tiny\.zip.*Ask for it.*GRADRANK_MIRROR"):
        fetch(entry(Archive(name="Tiny.zip", urls=[f"{closed}/Tiny.zip"])), out)


def test_artificial_data_are_not_fetched(out):
    with pytest.raises(GradrankError, match="gradrank generate net"):
        fetch("synthetic_net", out)


@pytest.mark.parametrize("kind", ["sha256", "md5"])
def test_a_wrong_checksum_names_both_and_nothing_is_kept(tmp_path, out, kind):
    packed = tiny(tmp_path / "mirror")
    wrong = "ab" * (32 if kind == "sha256" else 16)
    with pytest.raises(GradrankError) as error:
        fetch(entry(Archive(name=packed.name, **{kind: [wrong]})), out, str(packed.parent))
    assert wrong in str(error.value)
    assert hashlib.new(kind, packed.read_bytes()).hexdigest() in str(error.value)
    assert packed.exists() and not tree(tmp_path / "raw")


def test_a_download_with_a_wrong_checksum_is_fetched_anew_not_resumed(tmp_path, out, serve, content):
    bad_address, _ = serve(bytes(len(content)))
    with pytest.raises(GradrankError, match=sha(content)):
        fetch(known(content), out, bad_address)
    assert not tree(tmp_path / "raw")
    address, requests = serve(content)
    fetch(known(content), out, address + "/")
    assert data(out) == FILES and requests == [("/Tiny.tar.gz", None)]


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
def test_a_damaged_byte_is_noticed_wherever_it_is(tmp_path, out, kind):
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
        (NORM | {f"again/{name}": b"" for name in NORM}, r"two files for Fold1/train\.txt"),
    ],
)
def test_an_archive_of_other_files_is_refused(tmp_path, out, members, reason):
    pack(tmp_path / "mirror/Tiny.zip", members)
    with pytest.raises(GradrankError, match=reason):
        fetch(entry(Archive(name="Tiny.zip")), out, str(tmp_path / "mirror"))


def _special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info


INSIDE = "Tiny/Norm/Fold1/train.txt"
TRAPS = {
    "dots.tar.gz": ({"Tiny/../../../outside.txt": b"x"}, ()),
    "dots.zip": ({"../outside.txt": b"x"}, ()),
    "backslash.zip": ({"..\\outside.txt": b"x"}, ()),
    "drive.zip": ({"C:/outside.txt": b"x"}, ()),
    "dots-to-a-wanted-name.tar.xz": ({f"../{INSIDE}": b"x"}, ()),
    "absolute.tar.xz": ({"/tmp/outside.txt": b"x"}, ()),
    "absolute.zip": ({f"/{INSIDE}": b"x"}, ()),
    "symlink.tar.gz": ({}, (_special(INSIDE, tarfile.SYMTYPE, "/etc/passwd"),)),
    "symlinked-folder.tar.gz": ({}, (_special("Tiny/Norm/Fold1", tarfile.SYMTYPE, "../../.."),)),
    "hardlink.tar.xz": ({}, (_special(INSIDE, tarfile.LNKTYPE, "/etc/passwd"),)),
    "device.tar.gz": ({}, (_special(INSIDE, tarfile.CHRTYPE),)),
    "pipe.tgz": ({}, (_special(INSIDE, tarfile.FIFOTYPE),)),
    "symlink.zip": ({}, (_zip_link(INSIDE),)),
}


@pytest.mark.parametrize("name", TRAPS)
def test_an_archive_with_a_trap_is_refused_whole(tmp_path, out, name):
    members, special = TRAPS[name]
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
    monkeypatch.setattr(archive_module, "MOST_MEMBERS", 10)
    tiny(tmp_path / "mirror", kind)
    with pytest.raises(GradrankError, match=r"11 files .* archive bomb"):
        fetch(entry(Archive(name=f"Tiny.{kind}")), out, str(tmp_path / "mirror"))


@pytest.fixture
def bsdtar(tmp_path, monkeypatch):
    """A stand-in for bsdtar, alone on the PATH, that unpacks a folder instead of an archive."""
    content = tmp_path / "rar-content"
    program = tmp_path / "bin" / "bsdtar"
    program.parent.mkdir()
    script = tmp_path / "bsdtar.py"
    script.write_text(
        "import shutil, sys\n"
        "assert sys.argv[1:3] == ['-x', '-f'] and sys.argv[4] == '-C'\n"
        f"shutil.copytree({str(content)!r}, sys.argv[5], symlinks=True, dirs_exist_ok=True)\n"
    )
    # Through the shell: a Python whose path has a space in it cannot stand behind #!.
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror/Tiny.rar").write_bytes(b"Rar!" * 1000)
    return content


def test_a_rar_is_unpacked_by_the_program_at_hand(tmp_path, out, bsdtar):
    unpacked(bsdtar / "Tiny/Norm")
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


def test_a_rar_without_a_program_says_what_to_install(tmp_path, out, bsdtar, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GradrankError, match=r"bsdtar, unrar, unar .*GRADRANK_MIRROR"):
        fetch(entry(Archive(name="Tiny.rar")), out, str(tmp_path / "mirror"))


@pytest.mark.parametrize(("name", "files"), [("mq2007", 20), ("ohsumed", 15)])
def test_the_real_archives_have_the_official_layout(mirror, tmp_path, name, files):
    described = fetch(name, tmp_path / name, str(mirror))
    assert len(described["files"]) == files
    hashes = {file: value["sha256"] for file, value in described["files"].items()}
    for fold in range(1, 6):  # fold k validates on the part that fold k-1 tests on
        assert hashes[f"Fold{fold}/vali.txt"] == hashes[f"Fold{(fold - 2) % 5 + 1}/test.txt"]


def test_files_of_others_in_the_folder_and_next_to_it_stay(tmp_path, out):
    packed = tiny(tmp_path / "mirror")
    listed, mirror = entry(Archive(name=packed.name)), str(packed.parent)
    others = [
        out / "Fold1/notes.txt",
        out.parent / ".tiny.download/thesis.txt",
        out.parent / ".tiny.partial/thesis.txt",
    ]
    others += [out.parent / ".tiny.lock"]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("mine")
    (out / "Fold1/test.txt").write_text("mine")
    before = tree(out)
    with pytest.raises(GradrankError, match=r"Fold1/test\.txt.*Fix"):
        fetch(listed, out, mirror)
    assert tree(out) == before
    (out / "Fold1/test.txt").unlink()
    fetch(listed, out, mirror)
    assert {path.read_text() for path in others} == {"mine"}
    assert (out / "Fold1/test.txt").read_bytes() == FILES["Fold1/test.txt"]
