"""One peer engine as a contender: `peer.py ENGINE PRECISION MODEL_FOLDER GRAPH TEXTS [LIMIT_LIBRARY]`.

Answers to `go SETTING` (a batch size, and for OpenVINO streams × batch size) with seconds and tokens, and to
`vectors FILE` by writing the embeddings of the last `go` as float32. Tokenising is not in the seconds.
"""
import ctypes, importlib.metadata, json, os, pathlib, sys, time

THREADS = 2
TOKENS = 256


def main(engine, precision, model, graph, texts, limit=None):
    announced = limited(limit) if limit else None
    try:
        import numpy
        import tokenizers
        start = time.monotonic()
        run = dict(onnxruntime=onnxruntime, openvino=openvino)[engine](precision, graph)
        seconds = time.monotonic() - start
    except ImportError as error:
        return say(failure=f"not installed: {error.name or error}")
    ids = tokenised(tokenizers.Tokenizer.from_file(f"{model}/tokenizer.json"), texts)
    say(ready=True, kernel=precision, load_seconds=seconds, resident_bytes=resident_bytes(), announced=announced,
        version=importlib.metadata.version(engine))
    vectors, cached = None, {}
    for line in sys.stdin:
        command, argument = line.strip().split(" ", 1)
        if command == "go":
            streams, size = (int(number) for number in argument.split("×"))
            if size not in cached:
                cached[size] = batches(numpy, ids, size)
            order, inputs = cached[size]
            start = time.monotonic()
            outputs = run(streams, inputs)
            say(seconds=time.monotonic() - start, tokens=sum(map(len, ids)))
            vectors = numpy.empty((len(ids), outputs[0].shape[1]), "<f4")
            vectors[order] = numpy.concatenate(outputs)
        elif command == "vectors":
            pathlib.Path(argument).write_bytes(vectors.tobytes())


def limited(library):
    """Before anything asks `cpuid`; says what is announced from now on."""
    limit = ctypes.CDLL(library)
    if limit.limit_to_avx2() != 0 or limit.announced() != 1:
        say(failure="this machine cannot hide its extensions (no CPUID faulting)")
        sys.exit(1)
    return "avx2"


def onnxruntime(precision, graph):
    import onnxruntime as engine
    options = engine.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.log_severity_level = 3
    session = engine.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    return lambda streams, inputs: [session.run(None, one)[0] for one in inputs]


def openvino(precision, graph):
    import openvino as engine
    core = engine.Core()
    if precision == "bf16" and "BF16" not in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        say(failure="no bf16 on this processor")
        sys.exit(1)
    model = core.read_model(graph)
    queues = {}
    for streams in (1, 2):
        settings = dict(INFERENCE_PRECISION_HINT=precision, INFERENCE_NUM_THREADS=THREADS, NUM_STREAMS=streams)
        queues[streams] = engine.AsyncInferQueue(core.compile_model(model, "CPU", settings), streams)

    def run(streams, inputs):
        outputs = [None] * len(inputs)
        queue = queues[streams]
        queue.set_callback(lambda request, place: outputs.__setitem__(place, request.get_output_tensor().data.copy()))
        for place, one in enumerate(inputs):
            queue.start_async(one, place)
        queue.wait_all()
        return outputs

    return run


def tokenised(tokenizer, texts):
    tokenizer.enable_truncation(TOKENS)
    tokenizer.no_padding()
    lines = pathlib.Path(texts).read_text(encoding="utf-8").splitlines()
    return [one.ids for one in tokenizer.encode_batch([json.loads(line) for line in lines])]


def batches(numpy, ids, size):
    """Sorted by length, padded to the longest of the batch and no further."""
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    inputs = []
    for start in range(0, len(order), size):
        rows = [ids[place] for place in order[start:start + size]]
        tokens = numpy.zeros((len(rows), len(rows[-1])), numpy.int64)
        mask = numpy.zeros_like(tokens)
        for row, one in enumerate(rows):
            tokens[row, :len(one)], mask[row, :len(one)] = one, 1
        inputs.append(dict(input_ids=tokens, attention_mask=mask, positions=numpy.arange(tokens.shape[1])))
    return order, inputs


def resident_bytes():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def say(**answer):
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
