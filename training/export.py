#!/usr/bin/env python3
"""Writes the weights as the product reads them: bytes with a scale for each row, and the vocabulary.

    training/export.py READER TOKENIZER OUT
"""

import json
import sys

import numpy as np
from safetensors.numpy import load_file, save_file

import model

SHIPPED = [model.START, model.END, model.RELEVANCE]


def main():
    stored, pieces = load_file(sys.argv[1]), json.load(open(sys.argv[2], encoding="utf-8"))["model"]["vocab"]
    save_file(exported(stored, pieces), sys.argv[3])


def exported(stored, pieces):
    tensors = {}
    for name, value in stored.items():
        # What only helped the training is left out.
        value = value[SHIPPED] if name.startswith("head.") else value
        if value.ndim == 1 or name == "head.weight":
            tensors[name] = value.astype(np.float32)
            continue
        scale = np.maximum(np.abs(value).max(axis=1) / 127, 1e-12).astype(np.float32)
        tensors[name] = np.round(value / scale[:, None]).astype(np.int8)
        tensors[f"{name}.scale"] = scale
    ordered = sorted(pieces, key=pieces.get)
    tensors["vocabulary"] = np.frombuffer("\n".join(ordered).encode(), np.uint8)
    return tensors


if __name__ == "__main__":
    main()
