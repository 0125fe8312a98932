#!/usr/bin/env python3
"""Trains the reader on the rows that `prepare.py` made, from the weights of a cross-encoder, or a teacher for it.

    training/train.py WORK OUT --teacher [--epochs 1] [--rate 5e-5]
    training/train.py WORK OUT [--taught-by OUT_OF_TEACHER] [--epochs 2] [--rate 1.5e-4] [--seed 14] [--seconds 600]

Reads WORK/rows.jsonl.xz, WORK/tokenizer.json and WORK/ce.onnx, or for a teacher WORK/mpnet.safetensors; writes
OUT/reader.safetensors (floats), and for a teacher OUT/said.npz: what it says of each row. Takes a GPU if there is one.
With `--seconds` the epochs end early, and the rate of learning falls so that it ends with them.
"""

import argparse
import pathlib
import random
import time
from dataclasses import replace

import numpy as np
import torch
from safetensors.torch import save_file
from torch.nn import functional as F

import data
import model

SEED = 14
BUDGET = 32 << 10
# What the outputs beside the place weigh in the loss.
WEIGHTS = {"answered": 0.5, "marked": 2.5, "relevance": 0.1}
RELEVANCE_SCALE = 5.0
# The share of the rows that the cross-encoder judges: how relevant a text is, is learnt soon.
JUDGED = 0.4
# What a teacher says of a place weighs against what the row says.
TAUGHT = 0.5


def main():
    ask = argparse.ArgumentParser()
    ask.add_argument("work", type=pathlib.Path)
    ask.add_argument("out", type=pathlib.Path)
    ask.add_argument("--teacher", action="store_true")
    ask.add_argument("--taught-by", type=pathlib.Path)
    ask.add_argument("--epochs", type=float, default=2.0)
    ask.add_argument("--rate", type=float, default=1.5e-4)
    ask.add_argument("--layers", type=int, default=12)
    ask.add_argument("--rows", type=int)
    ask.add_argument("--seconds", type=float)
    ask.add_argument("--budget", type=int, default=BUDGET)
    ask.add_argument("--seed", type=int, default=SEED)
    asked = ask.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(asked.seed)
    begun = time.time()
    tokens = data.Tokens(asked.work / "tokenizer.json")
    # A teacher and whom it teaches have the same examples in the same order.
    examples = data.encoded(asked.work / "rows.jsonl.xz", tokens, random.Random(SEED), asked.rows)
    print(f"{len(examples)} examples after {time.time() - begun:.0f} s", flush=True)
    if asked.teacher:
        reader = model.Reader(replace(model.TEACHER, layers=asked.layers))
        model.load(reader, model.of_mpnet(asked.work / "mpnet.safetensors"))
        reader.to(device)
    else:
        stored = model.of_onnx(str(asked.work / "ce.onnx"))
        reader = model.Reader(model.Shape(layers=asked.layers))
        model.load(reader, stored)
        reader.to(device)
        judge(reader, stored, examples, asked.budget, device)
        print(f"judged by the cross-encoder after {time.time() - begun:.0f} s", flush=True)
    if asked.taught_by:
        stored = np.load(asked.taught_by / "said.npz")
        said, bounds = stored["said"], stored["bounds"]
        if list(np.diff(bounds)) != [len(example["ids"]) for example in examples]:
            raise SystemExit(f"{asked.taught_by} was taught other rows: train the teacher again")
        for example, lo, hi in zip(examples, bounds, bounds[1:]):
            example["said"] = said[lo:hi]
    train(reader, examples, asked, random.Random(asked.seed), device)
    asked.out.mkdir(parents=True, exist_ok=True)
    tensors = {name: torch.from_numpy(value.copy()) for name, value in model.named(reader).items()}
    save_file(tensors, asked.out / "reader.safetensors")
    if asked.teacher:
        teach(reader, examples, asked, device)
        print(f"said after {time.time() - begun:.0f} s", flush=True)


@torch.no_grad()
def teach(reader, examples, asked, device):
    """Writes where each example starts and ends by this reader, as numbers for all its tokens."""
    reader.eval()
    for batch in data.batches(examples, 4 * asked.budget, random.Random(SEED)):
        read = data.tensors(batch, device)
        with torch.autocast(device, torch.bfloat16):
            hidden = reader.hidden(read["tokens"], read["types"])
        said = reader.head(hidden.float())[..., :2].half().cpu().numpy()
        for example, own in zip(batch, said):
            example["said"] = own[:len(example["ids"])]
    bounds = np.cumsum([0, *(len(example["ids"]) for example in examples)])
    np.savez(asked.out / "said.npz", said=np.concatenate([example["said"] for example in examples]), bounds=bounds)


@torch.no_grad()
def judge(reader, stored, examples, budget, device):
    """Gives each example the score of the cross-encoder that the reader starts from: how relevant its text is."""
    pooler, bias = (torch.from_numpy(stored[f"pooler.dense.{name}"]).to(device) for name in ("weight", "bias"))
    classifier, last = (torch.from_numpy(stored[f"classifier.{name}"]).to(device) for name in ("weight", "bias"))
    reader.eval()
    chance = random.Random(SEED)
    judged = [example for example in examples if chance.random() < JUDGED]
    for batch in data.batches(judged, 4 * budget, chance):
        read = data.tensors(batch, device)
        with torch.autocast(device, torch.bfloat16):
            first = reader.hidden(read["tokens"], read["types"])[:, 0].float()
        scores = torch.tanh(first @ pooler + bias) @ classifier + last
        for example, score in zip(batch, scores[:, 0].tolist()):
            example["relevance"], example["judged"] = score / RELEVANCE_SCALE, 1.0


def train(reader, examples, asked, chance, device):
    decayed = [value for value in reader.parameters() if value.ndim > 1]
    others = [value for value in reader.parameters() if value.ndim == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}],
                                  lr=asked.rate, fused=device == "cuda")
    epoch = len(data.batches(examples, asked.budget, random.Random(SEED)))
    steps = int(asked.epochs * epoch)
    reader.train()
    # On a GPU most of the time goes into small steps between the products, which are joined so.
    hidden_of = torch.compile(reader.hidden, dynamic=True) if device == "cuda" else reader.hidden
    begun, step, losses = time.time(), 0, None
    while step < steps:
        for read in data.ahead(data.batches(examples, asked.budget, chance), device):
            done = step / steps
            if asked.seconds:
                done = max(done, (time.time() - begun) / asked.seconds)
            if done >= 1 or step >= steps:
                step = steps
                break
            for group in optimizer.param_groups:
                group["lr"] = asked.rate * min(1, done / 0.06 + 0.01) * (1 - done)
            with torch.autocast(device, torch.bfloat16):
                hidden = hidden_of(read["tokens"], read["types"])
            parts = loss(reader.head(hidden.float()), read)
            total = sum(parts.values())
            optimizer.zero_grad(set_to_none=True)
            total.backward()
            torch.nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimizer.step()
            step += 1
            now = torch.stack([value.detach() for value in parts.values()])
            losses = now if losses is None else 0.99 * losses + 0.01 * now
            if step % 250 == 0:
                shown = ", ".join(f"{name} {value:.3f}" for name, value in zip(parts, losses.tolist()))
                print(f"{step} of {steps}, {time.time() - begun:.0f} s: {shown}", flush=True)
    print(f"trained in {time.time() - begun:.0f} s", flush=True)


def loss(out, read):
    """Returns the parts of the loss, weighed."""
    padding = read["tokens"] == 0
    question = (read["types"] == 0) & ~padding
    # An answer is in the text; that there is none is at the first token.
    question[:, 0] = False
    hidden = padding | question
    place = 0.0
    for output, name in ((model.START, "start"), (model.END, "end")):
        logits = out[..., output].masked_fill(hidden, -1e4)
        place = place + F.cross_entropy(logits, read[name], ignore_index=data.NONE, reduction="sum") / 2
    whole = out[:, 0]
    has_place = (read["start"] != data.NONE).float()
    place = place / has_place.sum().clamp(min=1)
    mean = lambda values, weights: (values * weights).sum() / weights.sum().clamp(min=1)
    if "said" in read:
        place = (1 - TAUGHT) * place + TAUGHT * as_taught(out, read["said"], hidden).mean()
    answered = F.binary_cross_entropy_with_logits(whole[:, model.ANSWERED], read["answered"])
    in_text = ((read["types"] == 1) & ~padding).float() * has_place[:, None]
    marked = F.binary_cross_entropy_with_logits(out[..., model.MARKED], read["marked"].float(), reduction="none")
    # Few tokens are marked: what each text adds counts, not each token.
    marked = (marked * in_text).sum(1) / in_text.sum(1).clamp(min=1)
    relevance = (whole[:, model.RELEVANCE] - read["relevance"]) ** 2
    return {"place": place, "answered": WEIGHTS["answered"] * answered,
            "marked": WEIGHTS["marked"] * mean(marked, has_place),
            "relevance": WEIGHTS["relevance"] * mean(relevance, read["judged"])}


def as_taught(out, said, hidden):
    """Returns for each text how far its places are from what a teacher said of them."""
    logits, said = out[..., :2].masked_fill(hidden[..., None], -1e4), said.masked_fill(hidden[..., None], -1e4)
    return -(said.softmax(1) * logits.log_softmax(1)).sum((1, 2)) / 2


if __name__ == "__main__":
    main()
