#!/usr/bin/env python3
"""Averages the weights of several runs.

    training/average.py OUT READER...

The mean of runs from the same start answers more than each of them.
"""

import sys

import numpy as np
from safetensors.numpy import load_file, save_file


def main():
    out, *paths = sys.argv[1:]
    stored = [load_file(path) for path in paths]
    save_file({name: np.mean([tensors[name] for tensors in stored], 0) for name in stored[0]}, out)


if __name__ == "__main__":
    main()
