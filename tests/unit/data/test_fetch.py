"""Fetching, against tiny archives made here, a server on 127.0.0.1 and processes that are killed."""

import errno
import hashlib
import io
import shutil
import stat
import subprocess
import sys
import tarfile
import textwrap
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gradrank.base.errors import GradrankError
from gradrank.base.stamps import read_sealed
from gradrank.data.sources import archive as archive_module
from gradrank.data.sources import download as download_module
from gradrank.data.sources.catalogue import Archive, Entry
from gradrank.data.sources.fetch import fetch

FILES = {
    f"Fold{fold}/{split}.txt": f"{fold % 3} qid:{fold} 1:0.5 #docid = {split}\n".encode() * 400
    for fold in range(1, 6)
    for split in ("train", "vali", "test")
}
NORM = {f"Tiny/Norm/{name}": content for name, content in FILES.items()}
KINDS = ("tar.xz", "tar.gz", "tgz", "zip")


def entry(*archives: Archive, **changes) -> Entry:
    described = {"title": "Tiny", "about": "a test", "citation": "none", "licence": "a licence to read"}
    found = {"obtain": "Ask for it.", "homepage": "https://example.org/tiny", "root": "Tiny/Norm"}
    return Entry(name="tiny", archives=archives, **{**described, **found, **changes})


def pack(path: Path, members: dict[str, bytes], *special: tarfile.TarInfo | zipfile.ZipInfo) -> Path:
    """An archive of regular files, followed by `special` members without content."""
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, content in members.items():
                bundle.writestr(name, content)
            for info in special:
                bundle.writestr(info, b"/etc/passwd")
        return path
    with tarfile.open(path, "w:xz" if path.suffix == ".xz" else "w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for info in special:
            tar.addfile(info)
    return path


def tiny(folder: Path, kind: str = "tar.gz", above: str = "") -> Path:
    """The data set's archive, which has other files too."""
    others = dict.fromkeys(("Tiny/Norm/readme.txt", "Tiny/Min/Fold1/train.txt", "Tiny/Norm/Fold1/notes.txt"), b"no")
    return pack(folder / f"Tiny.{kind}", {above + name: content for name, content in (NORM | others).items()})


def unpacked(folder: Path) -> None:
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def known(content: bytes) -> Entry:
    return entry(Archive(name="Tiny.tar.gz", sha256=[sha(content)]))


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` by its relative path, hidden ones too."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def data(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in tree(folder).items() if name != "fetched.json"}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(download_module.time, "sleep", lambda _: None)


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "raw" / "tiny"


@pytest.fixture
def content(tmp_path) -> bytes:
    return tiny(tmp_path / "source").read_bytes()


@pytest.fixture
def serve():
    """Start servers on 127.0.0.1; `serve(content, plan)` returns an address and the list of requests it got.

    The plan's next item is what a request meets: an HTTP status, or how many bytes are sent before the
    connection drops. After the plan every request is answered in full. `ranges=False` ignores Range.
    """
    servers = []

    def start(content: bytes, plan=(), ranges=True):
        steps, requests = list(plan), []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append((self.path, self.headers.get("Range")))
                step = steps.pop(0) if steps else None
                if step in (404, 416, 503):
                    self.send_error(step)
                    return
                asked = self.headers.get("Range")
                first = int(asked.removeprefix("bytes=").rstrip("-")) if asked and ranges else 0
                if first >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206 if asked and ranges else 200)
                self.send_header("Content-Length", str(len(content) - first))
                self.end_headers()
                self.wfile.write(content[first:] if step is None else content[first:][:step])

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}", requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


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


def test_a_connection_dropped_half_way_is_taken_up_where_it_broke(out, serve, content):
    half, drops = len(content) // 2, 2 * download_module.TRIES
    address, requests = serve(content, plan=[half, *[10] * drops])
    fetch(known(content), out, address)
    assert data(out) == FILES
    assert [asked for _, asked in requests] == [None] + [f"bytes={half + 10 * i}-" for i in range(drops + 1)]


def test_a_server_without_ranges_starts_again(out, serve, content):
    address, requests = serve(content, plan=[len(content) // 2], ranges=False)
    fetch(known(content), out, address)
    assert data(out) == FILES and len(requests) == 2


def test_a_server_that_sends_nothing_more_is_given_up_and_later_resumed(out, serve, content):
    address, requests = serve(content, plan=[100] + [0] * download_module.TRIES)
    with pytest.raises(GradrankError, match="closed early, 4 times"):
        fetch(known(content), out, address)
    assert not (out / "fetched.json").exists()
    fetch(known(content), out, address)
    assert data(out) == FILES and requests[-1][1] == "bytes=100-"
    assert list(out.parent.iterdir()) == [out]


def test_a_leftover_of_another_file_is_thrown_away(out, serve, content):
    left = out.parent / ".tiny.download/Tiny.tar.gz.part"
    left.parent.mkdir(parents=True)
    left.write_bytes(content + b"more")
    address, requests = serve(content)
    fetch(known(content), out, address)
    assert data(out) == FILES and [asked is None for _, asked in requests] == [False, True]


def test_a_busy_server_is_asked_again_a_missing_file_elsewhere_and_the_mirror_first(tmp_path, out, serve, content):
    (empty, missed), (busy, requests) = serve(content, plan=[404]), serve(content, plan=[503, 503])
    urls = [f"{address}/Tiny.tar.gz" for address in (empty, busy)]
    archive = Archive(name="Tiny.tar.gz", urls=urls)
    assert fetch(entry(archive), out)["source"] == urls[1]
    assert (len(missed), len(requests)) == (1, 3)
    mirror, _ = serve(content)
    assert fetch(entry(archive), tmp_path / "again", mirror)["source"] == f"{mirror}/Tiny.tar.gz" and len(missed) == 1


CHILD = """
    import os, resource, signal, sys
    from gradrank.data.sources import archive
    from gradrank.data.sources import download
    from gradrank.data.sources import fetch
    from gradrank.data.sources.catalogue import Archive, Entry
    entry = Entry.model_validate_json(sys.argv[1])
    out, mirror = sys.argv[2:4]
    {trap}
    fetch.fetch(entry, out, mirror)
"""


def child(trap: str, described: Entry, out: Path, mirror: str) -> subprocess.CompletedProcess:
    """`fetch` in another process, after the statements of `trap`."""
    code = textwrap.dedent(CHILD).format(trap=trap)
    command = [sys.executable, "-c", code, described.model_dump_json(), str(out), mirror]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


KILLED_AT = {
    "unpacking": """
        import itertools
        seen, real = itertools.count(), archive._bounded
        def bounded(members, path):
            for member in real(members, path):
                next(seen) == 7 and os.kill(os.getpid(), signal.SIGKILL)
                yield member
        archive._bounded = bounded
    """,
    "installing": """
        from pathlib import Path
        real = Path.replace
        def replace(self, target):
            self.name == "Fold3" and os.kill(os.getpid(), signal.SIGKILL)
            return real(self, target)
        Path.replace = replace
    """,
    "before the last word": """
        fetch.write_sealed = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    """,
    "downloading": """
        download.Progress.show = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    """,
}


@pytest.mark.parametrize("moment", KILLED_AT)
def test_killed_at_any_moment_the_same_call_completes(out, serve, content, moment):
    address, _ = serve(content)
    killed = child(textwrap.dedent(KILLED_AT[moment]), known(content), out, address)
    assert killed.returncode == -9, killed.stderr
    assert not (out / "fetched.json").exists()
    fetch(known(content), out, address)
    assert data(out) == FILES and list(out.parent.iterdir()) == [out]


def test_a_full_disk_is_said_so_and_nothing_counts_as_finished(tmp_path, out):
    plain, packed = entry(Archive(name="Tiny.tar.gz")), tiny(tmp_path / "mirror")
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))"
    assert all(len(content) > 5000 for content in FILES.values())
    failed = child(limit, plain, out, str(packed.parent))
    assert failed.returncode == 1
    assert "GradrankError" in failed.stderr and "no space left" in failed.stderr
    assert not tree(tmp_path / "raw")
    fetch(plain, out, str(packed.parent))
    assert data(out) == FILES


def test_a_disk_that_fills_while_downloading_keeps_what_can_be_resumed(out, serve, content, monkeypatch):
    address, requests = serve(content)
    with monkeypatch.context() as patch:
        patch.setattr(download_module.Progress, "show", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(GradrankError, match="no space left"):
            fetch(known(content), out, address)
    assert len(requests) == 1 and not out.exists()
    fetch(known(content), out, address)
    assert data(out) == FILES


@pytest.mark.parametrize(("name", "files"), [("mq2007", 20), ("ohsumed", 15)])
def test_the_real_archives_have_the_official_layout(mirror, tmp_path, name, files):
    described = fetch(name, tmp_path / name, str(mirror))
    assert len(described["files"]) == files
    hashes = {file: value["sha256"] for file, value in described["files"].items()}
    for fold in range(1, 6):  # fold k validates on the part that fold k-1 tests on
        assert hashes[f"Fold{fold}/vali.txt"] == hashes[f"Fold{(fold - 2) % 5 + 1}/test.txt"]
