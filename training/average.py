#!/usr/bin/env python3
"""Averages the weights of several runs, and fits the outputs for kinds of requests anew.

    training/average.py WORK OUT READER...

The mean of runs from the same start answers more than each of them. What a request is, is read off the first token by a
linear output, which does not survive the averaging as well: it is fitted on the rows of WORK/rows.jsonl.xz that have a kind.
"""

import json
import lzma
import pathlib
import sys

import numpy as np
import torch
from safetensors.numpy import save_file
from torch.nn import functional as F

import data
import evaluate
import model

DECAY = 1e-4


def main():
    work, out, *paths = map(pathlib.Path, sys.argv[1:])
    readers = [evaluate.open_reader(path).cpu() for path in paths]
    states = [reader.state_dict() for reader in readers]
    mean = {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
    reader = readers[0]
    reader.load_state_dict(mean)
    fit(reader, work)
    out.mkdir(parents=True, exist_ok=True)
    save_file(model.named(reader), out / "reader.safetensors")


def fit(reader, work):
    tokens = data.Tokens(work / "tokenizer.json")
    rows = [json.loads(line) for line in lzma.open(work / "rows.jsonl.xz", "rt", encoding="utf-8")]
    rows = [row for row in rows if "kind" in row]
    vectors = []
    with torch.no_grad():
        for lo in range(0, len(rows), 64):
            ids = [read[0] for read in tokens.pairs([(row["question"], "") for row in rows[lo:lo + 64]])]
            batch = torch.zeros(len(ids), max(map(len, ids)), dtype=torch.long)
            for row, own in enumerate(ids):
                batch[row, :len(own)] = torch.from_numpy(own.astype(np.int64))
            # All is the question's, but the last token.
            types = torch.zeros_like(batch)
            for row, own in enumerate(ids):
                types[row, len(own) - 1] = 1
            vectors.append(reader.hidden(batch, types)[:, 0])
    vectors, kinds = torch.cat(vectors), torch.tensor([row["kind"] for row in rows])
    weight, bias = reader.head.weight.detach().clone(), reader.head.bias.detach().clone()
    own = [weight[model.KINDS:].clone().requires_grad_(), bias[model.KINDS:].clone().requires_grad_()]
    search = torch.optim.LBFGS(own, max_iter=300, line_search_fn="strong_wolfe")

    def closure():
        search.zero_grad()
        loss = F.cross_entropy(vectors @ own[0].T + own[1], kinds) + DECAY * (own[0] ** 2).sum()
        loss.backward()
        return loss

    search.step(closure)
    right = ((vectors @ own[0].T + own[1]).argmax(1) == kinds).float().mean()
    print(f"kinds of {len(rows)} requests: {right:.1%} right")
    weight[model.KINDS:], bias[model.KINDS:] = own[0].detach(), own[1].detach()
    reader.head.weight.data, reader.head.bias.data = weight, bias


if __name__ == "__main__":
    main()
