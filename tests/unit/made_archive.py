"""A tiny data set in archives and folders, for tests of fetching."""

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
