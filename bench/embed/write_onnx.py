"""Writes the encoder as ONNX graphs, from the same safetensors file that Stoa reads: float32, and onnxruntime's
dynamic int8 of it. Usage: write_onnx.py MODEL_FOLDER OUT_FOLDER. Inputs are token ids, mask and positions; the
output is the mean over the tokens, of length one."""
import json, logging, os, pathlib, sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file


class Graph:
    """Nodes and constants, each named once."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], []

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def weight(self, name, transposed=False):
        values = self.weights[name].astype(np.float32)
        return self.constant(values.T if transposed else values)

    def node(self, operator, *inputs, **attributes):
        name = attributes.pop("output", f"n{len(self.nodes)}")
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def linear(self, x, name):
        return self.node("Add", self.node("MatMul", x, self.weight(f"{name}.weight", True)), self.weight(f"{name}.bias"))

    def norm(self, x, name, epsilon):
        return self.node("LayerNormalization", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"),
                         axis=-1, epsilon=epsilon)


def encoder(weights, config):
    graph = Graph({name.removeprefix("bert."): values for name, values in weights.items()})
    heads, hidden, epsilon = config["num_attention_heads"], config["hidden_size"], config["layer_norm_eps"]
    integers = lambda *values: graph.constant(np.array(values, np.int64))
    number = lambda value: graph.constant(np.array(value, np.float32))
    split, joined = integers(0, 0, heads, hidden // heads), integers(0, 0, hidden)

    words = graph.node("Gather", graph.weight("embeddings.word_embeddings.weight"), "input_ids")
    places = graph.node("Gather", graph.weight("embeddings.position_embeddings.weight"), "positions")
    kind = graph.constant(weights["embeddings.token_type_embeddings.weight"][0].astype(np.float32))
    x = graph.norm(graph.node("Add", graph.node("Add", words, places), kind), "embeddings.LayerNorm", epsilon)

    mask = graph.node("Cast", "attention_mask", to=TensorProto.FLOAT)
    absent = graph.node("Sub", number(1), graph.node("Unsqueeze", mask, integers(1, 2)))
    bias, scale = graph.node("Mul", absent, number(-1e4)), number((hidden // heads) ** -0.5)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}."
        by_head = lambda part, order: graph.node(
            "Transpose", graph.node("Reshape", graph.linear(x, f"{name}attention.self.{part}"), split), perm=order)
        query, key, value = by_head("query", [0, 2, 1, 3]), by_head("key", [0, 2, 3, 1]), by_head("value", [0, 2, 1, 3])
        scores = graph.node("Add", graph.node("Mul", graph.node("MatMul", query, key), scale), bias)
        mixed = graph.node("MatMul", graph.node("Softmax", scores, axis=-1), value)
        mixed = graph.node("Reshape", graph.node("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        x = graph.norm(graph.node("Add", graph.linear(mixed, f"{name}attention.output.dense"), x),
                       f"{name}attention.output.LayerNorm", epsilon)
        wide = graph.node("Gelu", graph.linear(x, f"{name}intermediate.dense"))
        x = graph.norm(graph.node("Add", graph.linear(wide, f"{name}output.dense"), x), f"{name}output.LayerNorm", epsilon)

    present, tokens = graph.node("Unsqueeze", mask, integers(2)), integers(1)
    total = graph.node("ReduceSum", graph.node("Mul", x, present), tokens, keepdims=0)
    mean = graph.node("Div", total, graph.node("ReduceSum", present, tokens, keepdims=0))
    graph.node("LpNormalization", mean, axis=-1, p=2, output="embedding")

    tensor = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    inputs = [tensor("input_ids", TensorProto.INT64, ["batch", "tokens"]),
              tensor("attention_mask", TensorProto.INT64, ["batch", "tokens"]), tensor("positions", TensorProto.INT64, ["tokens"])]
    output = tensor("embedding", TensorProto.FLOAT, ["batch", hidden])
    whole = helper.make_graph(graph.nodes, "encoder", inputs, [output], graph.constants)
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def main(model, out):
    out.mkdir(parents=True, exist_ok=True)
    graph = encoder(load_file(model / "model.safetensors"), json.loads((model / "config.json").read_text()))
    onnx.checker.check_model(graph)
    whole(out / "f32.onnx", lambda path: onnx.save(graph, path))
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError:
        return  # OpenVINO does without
    logging.disable(logging.WARNING)
    whole(out / "int8.onnx", lambda path: quantize_dynamic(str(out / "f32.onnx"), path, weight_type=QuantType.QInt8))


def whole(path, write):
    """No half file is ever taken for whole."""
    part = path.with_suffix(".part.onnx")
    write(str(part))
    os.replace(part, path)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
