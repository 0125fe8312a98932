#!/usr/bin/env python3
"""Fits what tells kinds of requests apart, on the wordings of `requests.tsv` and on questions of `questions.jsonl`.

    training/requests.py models/reader/requests.bin

It is linear in which words, pairs of words and pieces of words a request has, by their hashes. `crates/reading/src/request.rs`
reads the file, and computes the same.
"""

import json
import pathlib
import random
import re
import sys

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

HERE = pathlib.Path(__file__).parent
KINDS = ["question", "summary", "writing", "greeting", "thanks", "about", "documents"]
BUCKETS = 1 << 14
# Chosen on the half of bench/requests that was read, as were the features.
STRENGTH, QUESTIONS = 15, 3000
SEED = 14


def features(text):
    text = text.lower().strip()
    words = re.findall(r"\w+|[?!:.]", text)
    found = {"w" + word for word in words} | {f"b{one} {other}" for one, other in zip(words, words[1:])}
    found |= {"f" + word for word in words[:1]} | {"l" + word for word in words[-1:]} | {f"n{min(len(words), 12)}"}
    beginning = f"^{text[:60]}$"
    for size in (3, 4, 5):
        found |= {"c" + beginning[at:at + size] for at in range(len(beginning) - size + 1)}
    return {fnv(feature.encode()) % BUCKETS for feature in found}


def fnv(data):
    """FNV-1a of 32 bits."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value


def matrix(texts):
    columns, ends, values = [], [0], []
    for text in texts:
        own = features(text)
        columns += own
        ends.append(len(columns))
        values += [len(own) ** -0.5] * len(own)
    return csr_matrix((values, columns, ends), shape=(len(texts), BUCKETS))


def rows(chance):
    for line in (HERE / "requests.tsv").read_text(encoding="utf-8").splitlines():
        kind, text = line.split("\t")
        yield text, KINDS.index(kind)
    asked = [json.loads(line)["question"] for line in (HERE / "questions.jsonl").open(encoding="utf-8")]
    for text in chance.sample(asked, QUESTIONS):
        yield text, 0


def main():
    chance = random.Random(SEED)
    # People write without capitals and stops.
    made = [(text.lower().rstrip("?.!") or text if chance.random() < 0.25 else text, kind) for text, kind in rows(chance)]
    texts, kinds = zip(*made)
    fitted = LogisticRegression(C=STRENGTH, max_iter=500).fit(matrix(texts), kinds)
    scale = np.abs(fitted.coef_).max(axis=1) / 127
    weights = np.round(fitted.coef_ / scale[:, None]).astype(np.int8)
    head = np.stack([fitted.intercept_, scale], axis=1).astype("<f4")
    pathlib.Path(sys.argv[1]).write_bytes(head.tobytes() + weights.T.tobytes())
    right = fitted.score(matrix(texts), kinds)
    print(f"{len(texts)} requests, {right:.1%} of them right")


if __name__ == "__main__":
    main()
