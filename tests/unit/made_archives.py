"""Archives of a tiny data set, its catalogue entry, and the files that fetching it must give."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

from gradrank.data.sources.catalogue import Archive, Entry

FILES = {
    f"Fold{fold}/{split}.txt": f"{fold % 3} qid:{fold} 1:0.5 #docid = {split}\n".encode() * 400
    for fold in range(1, 6)
    for split in ("train", "vali", "test")
}
NORM = {f"Tiny/Norm/{name}": content for name, content in FILES.items()}
KINDS = ("tar.xz", "tar.gz", "tgz", "zip")


def entry(*archives: Archive, **changes) -> Entry:
    """Return a catalogue entry of five folds with these archives and changed fields."""
    description = {"title": "Tiny", "about": "a test", "citation": "none", "licence": "a licence to read"}
    access = {"obtain": "Ask for it.", "homepage": "https://example.org/tiny", "root": "Tiny/Norm"}
    return Entry(name="tiny", archives=archives, **{**description, **access, **changes})


def pack(path: Path, members: dict[str, bytes], *special: tarfile.TarInfo | zipfile.ZipInfo) -> Path:
    """Write an archive of regular files, followed by `special` members; return its path."""
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
    """Write the archive of the data set, which also has files that are not part of it; return its path."""
    others = dict.fromkeys(("Tiny/Norm/readme.txt", "Tiny/Min/Fold1/train.txt", "Tiny/Norm/Fold1/notes.txt"), b"no")
    return pack(folder / f"Tiny.{kind}", {above + name: content for name, content in (NORM | others).items()})


def unpack(folder: Path) -> None:
    """Write the files of the data set into a folder."""
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def known(content: bytes) -> Entry:
    """Return an entry with the checksum of its archive."""
    return entry(Archive(name="Tiny.tar.gz", sha256=[sha(content)]))


def tree(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below `folder`, including hidden files, by relative path."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def data(folder: Path) -> dict[str, bytes]:
    """Return the content of every file except fetched.json, by relative path."""
    return {name: content for name, content in tree(folder).items() if name != "fetched.json"}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
