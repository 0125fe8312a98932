#!/usr/bin/env python3
"""Fits what tells kinds of requests apart, on the wordings of `kinds.txt`, and adds it to a reader.

    training/kinds.py WORK READER

It is a linear output of the mean of a request's tokens after the first layers: the last ones know places in texts, and little
else. So it is fitted in a minute, to a reader that was trained. Questions and titles are those of WORK/rows.jsonl.xz.
"""

import json
import lzma
import pathlib
import random
import sys

import torch
from safetensors.numpy import load_file, save_file
from torch.nn import functional as F

import data
import evaluate

KINDS = ["question", "summary", "writing", "greeting", "thanks", "about", "documents"]
OF = {"zusammenfassung": "summary", "schreiben": "writing"}


def sections(path):
    """Reads the wordings: a line `[name]` begins a section, each further line is one wording."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("[") and line.endswith("]"):
            wordings = found[line[1:-1]] = []
        elif line:
            wordings.append(line)
    return found


SEED = 14
# What the product reads, too.
LAYERS = 2
OF_EACH, DECAY = 1500, 3e-4
TEMPLATES = sections(pathlib.Path(__file__).with_name("kinds.txt"))
THINGS, DINGE = TEMPLATES.pop("things"), TEMPLATES.pop("dinge")
# Questions that look like other kinds, and are none.
QUESTIONS = TEMPLATES.pop("question")


def rows(chance, questions, titles, count):
    """Yields texts with the index of their kind, so many of each kind and four times as many questions, a third of them from
    `QUESTIONS`; `questions` and `titles` are real ones."""
    for kind, name in enumerate(KINDS):
        wordings = [(one, THINGS) for one in TEMPLATES.get(name, ())]
        wordings += [(one, DINGE) for german, of in OF.items() if of == name for one in TEMPLATES[german]]
        for _ in range(count if wordings else 4 * count):
            if wordings:
                wording, things = chance.choice(wordings)
                text = wording.format(chance.choice(things if chance.random() < 0.6 else titles))
            else:
                text = chance.choice(QUESTIONS if chance.random() < 0.3 else questions)
            # People write without capitals and stops.
            if chance.random() < 0.3:
                text = text.lower().rstrip("?.!") or text
            elif chance.random() < 0.15 and name in ("summary", "writing"):
                text = chance.choice(["Please ", "Can you ", "Could you please ", "Hey, "]) + text[0].lower() + text[1:]
            yield text[0].upper() + text[1:] if chance.random() < 0.8 else text, kind


@torch.no_grad()
def means(reader, tokens, texts):
    """Returns the mean vector of each text after the first layers."""
    vectors = []
    for lo in range(0, len(texts), 64):
        ids = [own[:first] for own, first, _ in tokens.pairs([(text, "") for text in texts[lo:lo + 64]])]
        batch = torch.zeros(len(ids), max(map(len, ids)), dtype=torch.long)
        for row, own in enumerate(ids):
            batch[row, :len(own)] = torch.from_numpy(own).long()
        hidden = reader.hidden(batch, torch.zeros_like(batch), LAYERS)
        is_read = (batch != 0)[..., None]
        vectors.append((hidden * is_read).sum(1) / is_read.sum(1))
    return torch.cat(vectors)


def fit(vectors, kinds):
    """Returns weights and biases."""
    mean, deviation = vectors.mean(0), vectors.std(0)
    scaled = (vectors - mean) / deviation
    weight = torch.zeros(len(KINDS), scaled.shape[1], requires_grad=True)
    bias = torch.zeros(len(KINDS), requires_grad=True)
    search = torch.optim.LBFGS([weight, bias], max_iter=300, line_search_fn="strong_wolfe")

    def closure():
        search.zero_grad()
        loss = F.cross_entropy(scaled @ weight.T + bias, kinds) + DECAY * (weight ** 2).sum()
        loss.backward()
        return loss

    search.step(closure)
    weight = weight.detach() / deviation
    return weight, bias.detach() - weight @ mean


def main():
    work, path = map(pathlib.Path, sys.argv[1:])
    asked = [json.loads(line) for line in lzma.open(work / "rows.jsonl.xz", "rt", encoding="utf-8")]
    questions = [row["question"] for row in asked]
    titles = sorted({row["head"].split(" > ")[0] for row in asked if 2 < len(row["head"]) < 60})
    made = list(rows(random.Random(SEED), questions, titles, OF_EACH))
    reader, tokens = evaluate.open_reader(path).cpu(), data.Tokens(work / "tokenizer.json")
    vectors, kinds = means(reader, tokens, [text for text, _ in made]), torch.tensor([kind for _, kind in made])
    weight, bias = fit(vectors, kinds)
    right = ((vectors @ weight.T + bias).argmax(1) == kinds).float().mean()
    print(f"kinds of the {len(made)} requests that it is fitted on: {right:.1%} right")
    tensors = load_file(path)
    save_file({**tensors, "kinds.weight": weight.numpy(), "kinds.bias": bias.numpy()}, path)


if __name__ == "__main__":
    main()
