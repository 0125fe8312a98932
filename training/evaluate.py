#!/usr/bin/env python3
"""Says how well a reader answers questions from the passages that a search has found for them.

    training/evaluate.py READER TOKENIZER QUESTIONS...

Each file of QUESTIONS has a JSON object a line: `question`, `facts` (strings of which an answer must have one; none: the
passages do not answer) and `passages` (`head`, `text`, in the order of the search). Its score is plainer than the product's:
limits of one are none of the other.
"""

import json
import re
import sys

import numpy as np
import torch
from safetensors.numpy import load_file

import data
import export
import model

LONGEST_SPAN = 60
PER_PLACE = 0.5
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"(])|\n\s*\n|\n(?=\s*[-*•\d])")


def main():
    reader = open_reader(sys.argv[1])
    tokens = data.Tokens(sys.argv[2])
    for path in sys.argv[3:]:
        questions = [json.loads(line) for line in open(path, encoding="utf-8")]
        figures(path, questions, answers(reader, tokens, questions))


def open_reader(path):
    stored = load_file(path)
    stored = {name: value * stored[f"{name}.scale"][:, None] if value.dtype == np.int8 else value
              for name, value in stored.items() if not name.endswith(".scale") and name != "vocabulary"}
    if stored["head.bias"].shape[0] < model.OUTPUTS:
        for name in ("head.weight", "head.bias"):
            whole = np.zeros((model.OUTPUTS, *stored[name].shape[1:]), np.float32)
            whole[export.SHIPPED] = stored[name]
            stored[name] = whole
    layers = sum(name.endswith("attention.self.query.weight") for name in stored)
    width = stored["head.weight"].shape[1]
    reader = model.Reader(model.Shape(layers, width, len(stored.get("distances", ()))))
    model.load(reader, {name: value.astype(np.float32) for name, value in stored.items()})
    return reader.to("cuda" if torch.cuda.is_available() else "cpu").eval()


@torch.no_grad()
def read(reader, tokens, pairs):
    """Returns for each pair its outputs as arrays, with the places of the tokens of the text."""
    device = next(reader.parameters()).device
    encoded = tokens.pairs(pairs)
    results = [None] * len(pairs)
    order = sorted(range(len(pairs)), key=lambda index: len(encoded[index][0]))
    for lo in range(0, len(order), 64):
        some = order[lo:lo + 64]
        length = max(len(encoded[index][0]) for index in some)
        ids, types = np.zeros((len(some), length), np.int64), np.zeros((len(some), length), np.int64)
        for row, index in enumerate(some):
            own, first, _ = encoded[index]
            ids[row, :len(own)], types[row, first:len(own)] = own, 1
        with torch.autocast(device.type, torch.bfloat16):
            out, whole = reader(torch.from_numpy(ids).to(device), torch.from_numpy(types).to(device))
        out, whole = out.float().cpu().numpy(), whole.float().cpu().numpy()
        for row, index in enumerate(some):
            _, first, places = encoded[index]
            results[index] = {"tokens": out[row, first:first + len(places)], "places": places, "whole": whole[row],
                              "nothing": float(out[row, 0, :2].sum())}
    return results


def best_span(result, from_place):
    places, out = result["places"], result["tokens"]
    inside = np.array([start >= from_place and end > start for start, end in places], bool)
    if not inside.any():
        return -99.0, (0, 0)
    start = np.where(inside, out[:, model.START], -1e4)
    end = np.where(inside, out[:, model.END], -1e4)
    scores = start[:, None] + end[None, :]
    rows, columns = np.indices(scores.shape)
    scores[(columns < rows) | (columns > rows + LONGEST_SPAN)] = -1e9
    at = np.unravel_index(np.argmax(scores), scores.shape)
    return float(scores[at]) - result["nothing"], (places[at[0]][0] - from_place, places[at[1]][1] - from_place)


def answers(reader, tokens, questions):
    """Returns for each question its spans, the best first: score, whether answered, passage, place."""
    pairs, heads = [], []
    for asked in questions:
        for passage in asked["passages"]:
            head = passage["head"] + "\n" if passage["head"] else ""
            heads.append(len(head))
            pairs.append((asked["question"], head + passage["text"]))
    results = read(reader, tokens, pairs)
    found, at = [], 0
    for asked in questions:
        own = []
        for rank, passage in enumerate(asked["passages"]):
            score, place = best_span(results[at], heads[at])
            own.append((score - PER_PLACE * rank, float(results[at]["whole"][0]), rank, place))
            at += 1
        found.append(sorted(own, reverse=True))
    return found


def sentence(text, place):
    bounds = [0, *(match.end() for match in SENTENCE.finditer(text)), len(text)]
    start = max(bound for bound in bounds if bound <= place[0])
    end = min((bound for bound in bounds if bound >= place[1]), default=len(text))
    return text[start:end]


def simple(text):
    return " ".join(text.lower().replace("`", "").replace("*", "").split())


def has(text, string):
    string = simple(string)
    start = r"(?<!\w)" if string[0].isalnum() else ""
    end = r"(?!\d|\.\d)" if string[-1].isdigit() else ""
    return re.search(start + re.escape(string) + end, simple(text)) is not None


def figures(path, questions, found):
    right, scores = [0, 0, 0], {True: [], False: []}
    in_first = 0
    for asked, own in zip(questions, found):
        shown = [sentence(asked["passages"][rank]["text"], place) for _, _, rank, place in own[:3]]
        hits = [any(has(text, fact) for fact in asked["facts"]) for text in shown]
        if asked["facts"]:
            in_first += any(has(passage["text"], fact) for passage in asked["passages"] for fact in asked["facts"])
            for count in range(3):
                right[count] += any(hits[:count + 1])
        scores[bool(asked["facts"])].append((own[0][0] if own else -99, bool(hits and hits[0])))
    with_facts, without = scores[True], scores[False]
    print(f"{path}: {len(with_facts)} answerable, {in_first} found; one sentence {right[0]}, two {right[1]}, three {right[2]}")
    for refused in (0.6, 0.7, 0.75, 0.8, 0.9):
        if without:
            limit = sorted(score for score, _ in without)[min(len(without) - 1, int(refused * len(without)))]
            kept = sum(hit for score, hit in with_facts if score >= limit)
            print(f"  refusing {refused:.0%} of {len(without)} (below {limit:.1f}): {kept} answered right, "
                  f"{sum(score >= limit for score, _ in with_facts)} answered")


if __name__ == "__main__":
    main()
