"""Chroma as a contender, with the same encoder through onnxruntime:
`chroma.py PRECISION MODEL_FOLDER GRAPH DATA_FOLDER FILES_FOLDER`.

Answers to `go KIND` (a folder below FILES_FOLDER) with the seconds until all is found: read (PDFs by pypdf), cut into
pieces of at most 256 tokens, embedded in batches of 32, added, and asked for.
"""
import importlib.metadata, pathlib, sys, time

sys.dont_write_bytecode = True
from stoa import most_bytes, say

THREADS = 2
TOKENS = 256
BATCH = 32
ADDED_AT_ONCE = 512


def main(precision, model, graph, data, files):
    try:
        import chromadb, numpy, onnxruntime, pypdf, tokenizers
    except ImportError as error:
        return say(failure=f"not installed: {error.name or error}")
    encoder = Encoder(numpy, tokenizers.Tokenizer.from_file(f"{model}/tokenizer.json"), session(onnxruntime, graph))
    client = chromadb.PersistentClient(data, settings=chromadb.Settings(anonymized_telemetry=False))
    say(ready=True, version=", ".join(f"{name} {importlib.metadata.version(name)}"
                                      for name in ("chromadb", "onnxruntime", "pypdf")))
    for number, line in enumerate(sys.stdin):
        paths = sorted(pathlib.Path(files, line.split()[1]).iterdir())
        collection = client.create_collection(f"round{number}", configuration=dict(hnsw=dict(space="cosine")),
                                              embedding_function=None)
        start = time.monotonic()
        stages = ingest(paths, pypdf, encoder, collection)
        found = collection.query(query_embeddings=encoder.embed(["which results were obtained"]), n_results=5)
        seconds = time.monotonic() - start
        assert len(found["ids"][0]) == 5, "nothing is found"
        say(seconds=seconds, passages=collection.count(), peak_bytes=most_bytes("self"), stages=stages)
        client.delete_collection(f"round{number}")


def session(onnxruntime, graph):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def ingest(paths, pypdf, encoder, collection):
    """What each stage took. All pieces together, so that the batches are full."""
    times = [time.monotonic()]
    texts = [read(path, pypdf) for path in paths]
    times.append(time.monotonic())
    pieces = [(f"{path.name}/{place}", piece) for path, text in zip(paths, texts)
              for place, piece in enumerate(encoder.pieces(text))]
    ids, documents = [name for name, _ in pieces], [piece for _, piece in pieces]
    times.append(time.monotonic())
    vectors = encoder.embed(documents)
    times.append(time.monotonic())
    for at in range(0, len(ids), ADDED_AT_ONCE):
        part = slice(at, at + ADDED_AT_ONCE)
        collection.add(ids=ids[part], documents=documents[part], embeddings=vectors[part])
    times.append(time.monotonic())
    names = ["reading", "cutting", "embedding", "adding"]
    return {name: end - start for name, start, end in zip(names, times, times[1:])}


def read(path, pypdf):
    if path.suffix == ".pdf":
        return "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    return path.read_text(encoding="utf-8")


class Encoder:
    def __init__(self, numpy, tokenizer, session):
        self.numpy, self.tokenizer, self.session = numpy, tokenizer, session
        tokenizer.no_padding()

    def pieces(self, text):
        """Cut every 254 tokens, which are 256 with the two that mark start and end."""
        self.tokenizer.no_truncation()
        offsets = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return [text[offsets[at][0]:offsets[min(at + TOKENS - 2, len(offsets)) - 1][1]]
                for at in range(0, len(offsets), TOKENS - 2)]

    def embed(self, texts):
        """Sorted by length, padded to the longest of the batch and no further."""
        self.tokenizer.enable_truncation(TOKENS)
        ids = [one.ids for one in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        vectors = self.numpy.empty((len(ids), 384), self.numpy.float32)
        for start in range(0, len(order), BATCH):
            places = order[start:start + BATCH]
            tokens = self.numpy.zeros((len(places), len(ids[places[-1]])), self.numpy.int64)
            mask = self.numpy.zeros_like(tokens)
            for row, place in enumerate(places):
                tokens[row, :len(ids[place])], mask[row, :len(ids[place])] = ids[place], 1
            inputs = dict(input_ids=tokens, attention_mask=mask, positions=self.numpy.arange(tokens.shape[1]))
            vectors[places] = self.session.run(None, inputs)[0]
        return vectors


if __name__ == "__main__":
    main(*sys.argv[1:])
