#!/usr/bin/env python3
"""Checks questions.jsonl against the fetched documents.

    bench/answers/check.py [CACHE]          default: target/bench/answers, as `fetch` fills it
    bench/answers/check.py --set a          strangers/a, with target/bench/strangers/a

Verifies that every evidence is in its document and has the facts, that no question gives its facts away, that every
question has the fields of its kind, that the counts by kind hold, and that the split is the one that the seed gives.
A stranger's set has no split, and only has to be large enough.
Reads the documents in its own plain way, not with Stoa: letters and digits are compared, nothing else. PDFs are read
with `pdftotext` (Debian: poppler-utils).

`check.py --grep WORDS [CACHE]` prints the documents that contain all of the words, for writing near misses.
"""

import argparse
import email
import email.policy
import html
import json
import pathlib
import random
import re
import subprocess
import sys
import zipfile
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
COUNTS = {"answer": 90, "near": 30, "foreign": 10, "follow-up": 10, "summary": 5, "german": 5}
SPLITS = ["dev", "test", "unseen"]
SEED = 10
MIN_COUNTS = {"answer": 30, "near": 12}
MIN_DOCUMENTS = 12
TARGET = HERE.parents[1] / "target/bench"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("cache", nargs="?", type=pathlib.Path)
    parser.add_argument("--set")
    parser.add_argument("--grep", metavar="WORDS")
    arguments = parser.parse_args()
    bench, cache = HERE, arguments.cache or TARGET / "answers"
    if arguments.set:
        bench, cache = HERE / "strangers" / arguments.set, arguments.cache or TARGET / "strangers" / arguments.set
    texts = {path.name: text(path) for path in sorted((cache / "documents").iterdir())}
    if arguments.grep:
        grep(arguments.grep, texts)
        return
    questions = [json.loads(line) for line in (bench / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    plain = {name: letters(text) for name, text in texts.items()}
    faults = [fault for question in questions for fault in of_question(question, plain)]
    faults += of_size(questions, texts) if arguments.set else of_counts(questions)
    faults += [f"no question is about {name}" for name in set(texts) - {q.get("document") for q in questions}
               - {name for q in questions for name in q.get("documents", [])}]
    for fault in faults:
        print(fault)
    for kind, count in Counter(question["kind"] for question in questions).items():
        split = Counter(question["split"] for question in questions if question["kind"] == kind)
        print(f"{kind:<10} {count:>3}   " + "   ".join(f"{name} {split[name]:>2}" for name in SPLITS))
    print(f"{len(questions)} questions, {len(texts)} documents, {len(faults)} faults")
    sys.exit(1 if faults else 0)


def of_question(question, plain):
    """Returns what is wrong with one question."""
    name, kind = question["id"], question["kind"]
    documents = question.get("documents") or [question[key] for key in ["document"] if key in question]
    for document in documents:
        if document not in plain:
            yield f"{name}: there is no document {document}"
            return
    if kind in ("near", "foreign"):
        if "facts" in question:
            yield f"{name}: facts for what is not answered"
        return
    if not question.get("facts") or not question.get("relevant"):
        yield f"{name}: facts or relevant are missing"
    if kind == "follow-up" and not question.get("history"):
        yield f"{name}: history is missing"
    if kind == "summary":
        missing = [group for group in question["points"] if not any(letters(s) in plain[documents[0]] for s in group)]
        if missing:
            yield f"{name}: points that are not in the document: {missing}"
        return
    found = set()
    for evidence in question["evidence"]:
        places = [document for document in documents if letters(evidence) in plain[document]]
        found.update(places)
        if not places:
            yield f"{name}: not in {documents}: {evidence}"
    if found != set(documents):
        yield f"{name}: no evidence from {set(documents) - found}"
    groups = [question["facts"], *question.get("and_facts", [])]
    for group in groups:
        if not any(has(" ".join(question["evidence"]), fact) for fact in group):
            yield f"{name}: none of {group} is in the evidence"
        if any(has(question["question"], fact) for fact in group):
            yield f"{name}: one of {group} is in the question"
    for evidence in question["evidence"]:
        if not any(has(evidence, string) for string in sum(groups, question["relevant"])):
            yield f"{name}: not relevant by its own words: {evidence}"


def has(text, string):
    """Returns whether a text has a fact or a relevant string, as the README defines it."""
    text, string = simple(text), simple(string)
    start = r"(?<!\w)" if string[0].isalnum() else ""
    end = r"(?!\d|\.\d)" if string[-1].isdigit() else ""
    return re.search(start + re.escape(string) + end, text) is not None


def simple(text):
    return " ".join(text.lower().replace("`", "").replace("*", "").split())


def of_counts(questions):
    found = Counter(question["kind"] for question in questions)
    faults = [f"{found[kind]} questions of kind {kind} instead of {count}" for kind, count in COUNTS.items()
              if found[kind] != count]
    wanted = splits(questions)
    faults += [f"{question['id']}: split {question['split']} instead of {wanted[question['id']]}"
               for question in questions if question["split"] != wanted[question["id"]]]
    other = sum(question.get("wording") == "other" for question in questions)
    if other != COUNTS["answer"] // 2:
        faults.append(f"{other} answerable questions are in other words than the text")
    return faults


def of_size(questions, texts):
    """Returns what a stranger's set has too few of."""
    found = Counter(question["kind"] for question in questions)
    faults = [f"{found[kind]} questions of kind {kind}: at least {count}" for kind, count in MIN_COUNTS.items()
              if found[kind] < count]
    if len(texts) < MIN_DOCUMENTS:
        faults.append(f"{len(texts)} documents: at least {MIN_DOCUMENTS}")
    return faults


def splits(questions):
    """Assigns every question to a split: at random, as many of each kind, form and wording as can be."""
    chance = random.Random(SEED)
    order = {}
    for question in questions:
        stratum = (question["kind"], question.get("wording", ""), question.get("form", ""))
        order.setdefault(stratum, []).append(question["id"])
    queue = []
    for stratum in sorted(order):
        chance.shuffle(order[stratum])
        queue += order[stratum]
    return {name: SPLITS[place % len(SPLITS)] for place, name in enumerate(queue)}


def letters(text):
    return "".join(character for character in text.casefold() if character.isalnum())


def text(path):
    """Returns the text of a document, without layout."""
    body = path.read_bytes()
    if body.startswith(b"%PDF"):
        # Tables need the layout, paragraphs in columns the order of the file.
        return "".join(subprocess.run(["pdftotext", way, "-enc", "UTF-8", path, "-"], check=True, capture_output=True)
                       .stdout.decode() for way in ["-layout", "-raw"])
    if body.startswith(b"PK"):
        return archive(zipfile.ZipFile(path))
    if path.suffix == ".eml":
        return mail(body)
    string = body.decode("utf-8", errors="replace")
    if path.suffix == ".html":
        return without_tags(string)
    if path.suffix == ".ipynb":
        return notebook(json.loads(string))
    if path.suffix == ".json":
        return "\n".join(values(json.loads(string)))
    if re.fullmatch(r"\.\d", path.suffix):
        return manual(string)
    if path.suffix == ".tex":
        return re.sub(r"\\[a-zA-Z]+", " ", string)
    return string


def without_tags(markup):
    return html.unescape(re.sub(r"(?s)<[^>]+>", " ", re.sub(r"(?s)<(script|style).*?</\1>", " ", markup)))


def archive(package):
    """Joins the parts of an office file or a book; cells of a workbook stand in the order of the rows."""
    names = package.namelist()
    if "xl/workbook.xml" in names:
        return workbook(package, names)
    pattern = r"word/document\.xml$|(notesSlides/notesS|slides/s)lide\d+\.xml$|^content\.xml$|\.x?html?$"
    parts = [name for name in names if re.search(pattern, name)]
    return "\n".join(without_tags(re.sub(r"</(w|a|text):p>", "\n", package.read(name).decode())) for name in parts)


def workbook(package, names):
    shared = []
    if "xl/sharedStrings.xml" in names:
        strings = re.findall(r"(?s)<si>(.*?)</si>", package.read("xl/sharedStrings.xml").decode())
        shared = [without_tags(string) for string in strings]
    lines = []
    for name in names:
        if not re.search(r"worksheets/sheet\d+\.xml$", name):
            continue
        for attributes, cell in re.findall(r"(?s)<c ([^>]*[^/])>(.*?)</c>", package.read(name).decode()):
            value = re.search(r"(?s)<v>(.*?)</v>", cell)
            if value and 't="s"' in attributes:
                lines.append(shared[int(value.group(1))])
            else:
                lines.append(value.group(1) if value else without_tags(cell))
    return "\n".join(lines)


def mail(body):
    message = email.message_from_bytes(body, policy=email.policy.default)
    parts = [part.get_content() for part in message.walk() if part.get_content_maintype() == "text"]
    return "\n".join([str(message["subject"]), *parts])


def notebook(content):
    lines = []
    for cell in content["cells"]:
        lines.append("".join(cell["source"]))
        for output in cell.get("outputs", []):
            lines += ["".join(output.get("text", [])), "".join(output.get("data", {}).get("text/plain", []))]
    return "\n".join(lines)


def values(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from values(item)
    elif isinstance(value, list):
        for item in value:
            yield from values(item)
    else:
        yield str(value)


def manual(roff):
    """Removes the requests and escapes of a manual page."""
    roff = re.sub(r"\\f(\[.*?\]|\(..|.)", "", roff)
    roff = re.sub(r"\\\((aq|dq|cq|oq|lq|rq|em|en|ha|ti|rs|co)", " ", roff)
    roff = re.sub(r"\\[-&/|^e ]", lambda match: "-" if match.group() == r"\-" else "", roff)
    return re.sub(r"(?m)^['.]\s*[A-Za-z]{1,3}\b", "", roff)


def grep(words, texts):
    for name, text in texts.items():
        folded = text.casefold()
        if all(word in folded for word in words.casefold().split()):
            at = folded.index(words.casefold().split()[0])
            print(f"{name}: … {' '.join(text[max(0, at - 100):at + 160].split())} …")


if __name__ == "__main__":
    main()
