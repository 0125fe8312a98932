"""What is searched, the same for all: `sample.py FOLDER OTHERS SIZE…` writes it. FOLDER holds `questions.vectors`, the
questions as the encoder embeds them.

Vectors are random, of length one, and lie in clusters; a question lies in one too, so that it has neighbours. Each of
the first owners has one of the sizes, the rest OTHERS passages each, and the rows of all are mixed, as time mixes them.
"""
import pathlib, sys

import numpy

DIMENSION = 384
OWNERS = 100
CLUSTER = 50  # passages, on average
BLOCK = 8192


class Sample:
    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.vectors = numpy.load(folder / "vectors.npy", mmap_mode="r")
        self.owners = numpy.load(folder / "owners.npy")
        self.questions = numpy.load(folder / "questions.npy")
        self.exact = numpy.load(folder / "exact.npy")
        self.sizes = numpy.bincount(self.owners).tolist()

    def rows(self, owner):
        return numpy.flatnonzero(self.owners == owner)

    def recall(self, owner, answers):
        """`answers`: for each question the rows that were found."""
        hits = sum(len(set(map(int, found)) & set(exact.tolist())) for found, exact in zip(answers, self.exact[owner]))
        return hits / self.exact[owner].size


def middle_and_end(times):
    p50, p99 = numpy.percentile(times, [50, 99]).tolist()
    return dict(p50=p50, p99=p99)


def main(folder, others, sizes):
    questions = numpy.frombuffer((folder / "questions.vectors").read_bytes(), "<f4").reshape(-1, DIMENSION)
    dice = numpy.random.default_rng(1)
    owners = dice.permutation(numpy.repeat(numpy.arange(OWNERS), [*sizes, *[others] * (OWNERS - len(sizes))]))
    vectors = clustered(dice, len(owners), questions)
    exact = [nearest(vectors, numpy.flatnonzero(owners == owner), questions) for owner in range(len(sizes))]
    for name, values in dict(vectors=vectors, owners=owners, questions=questions, exact=numpy.array(exact)).items():
        numpy.save(folder / f"{name}.npy", values)


def clustered(dice, count, questions):
    centers = unit(dice, max(count // CLUSTER, len(questions)))
    centers[:len(questions)] = normalised(centers[:len(questions)] + questions)
    vectors = unit(dice, count)
    for start in range(0, count, BLOCK):
        block = vectors[start:start + BLOCK]
        block[:] = normalised(block + centers[dice.integers(0, len(centers), len(block))])
    return vectors


def unit(dice, count):
    return normalised(dice.standard_normal((count, DIMENSION), dtype=numpy.float32))


def normalised(vectors):
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def nearest(vectors, rows, questions):
    """In double precision, all compared: for each question the ten rows that are nearest."""
    products = numpy.concatenate([vectors[rows[start:start + BLOCK]].astype(numpy.float64) @ questions.T.astype(numpy.float64)
                                  for start in range(0, len(rows), BLOCK)])
    return rows[numpy.argsort(-products, axis=0, kind="stable")[:10].T]


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), [int(size) for size in sys.argv[3:]])
