"""The reader: a BERT with three outputs for every token and two for the text as a whole.

Its teacher is wider, and adds to what each token says to another one a number by their distance, as MPNet does.
"""

import math
import re
from dataclasses import dataclass

import numpy as np
import torch
from safetensors.numpy import load_file
from torch import nn
from torch.nn import functional as F

VOCABULARY, POSITIONS, HEADS = 30522, 512, 12
# Rows of the head: for each token whether an answer starts or ends there and whether it belongs to one; for the text whether
# it answers the question and how well it goes with it.
START, END, MARKED, ANSWERED, RELEVANCE = range(5)
OUTPUTS = 5


@dataclass(frozen=True)
class Shape:
    layers: int = 12
    width: int = 384
    # Classes of distances between tokens; none: a token only knows its own position.
    distances: int = 0


TEACHER = Shape(width=768, distances=32)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query_key_value = nn.Linear(width, 3 * width)
        self.attention_output = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, eps=1e-12)
        self.intermediate = nn.Linear(width, 4 * width)
        self.output = nn.Linear(4 * width, width)
        self.output_norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, hidden, mask, dropout):
        batch, length, width = hidden.shape
        query, key, value = self.query_key_value(hidden).view(batch, length, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        context = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=dropout)
        context = self.attention_output(context.transpose(1, 2).reshape(batch, length, width))
        hidden = self.attention_norm(hidden + F.dropout(context, dropout))
        inner = self.output(F.gelu(self.intermediate(hidden)))
        return self.output_norm(hidden + F.dropout(inner, dropout))


class Reader(nn.Module):
    def __init__(self, shape=Shape()):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, shape.width)
        self.positions = nn.Embedding(POSITIONS, shape.width)
        self.types = nn.Embedding(2, shape.width)
        self.norm = nn.LayerNorm(shape.width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(shape.width) for _ in range(shape.layers))
        self.head = nn.Linear(shape.width, OUTPUTS)
        # Not learnt further: it would need another, slower way through the attention.
        self.register_buffer("distances", torch.zeros(shape.distances, HEADS))

    def hidden(self, tokens, types, layers=None):
        """Returns the vectors after so many layers, or all. Tokens of number 0 are padding."""
        dropout = 0.1 if self.training else 0.0
        places = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.norm(self.words(tokens) + self.positions(places) + self.types(types))
        hidden = F.dropout(hidden, dropout)
        mask = (tokens != 0)[:, None, None, :]
        if len(self.distances):
            said = self.distances[distance_classes(places, len(self.distances))].permute(2, 0, 1)[None]
            mask = said.masked_fill(~mask, -1e4).to(torch.bfloat16 if torch.is_autocast_enabled(tokens.device.type) else said.dtype)
        for layer in self.layers[:layers]:
            hidden = layer(hidden, mask, dropout)
        return hidden

    def forward(self, tokens, types):
        """Returns the outputs for every token, and those for the whole, which are the first token's."""
        out = self.head(self.hidden(tokens, types)).float()
        return out[..., :ANSWERED], out[:, 0, ANSWERED:]


def distance_classes(places, count):
    """Returns for each pair of places the class of their distance: small ones each, larger ones by their logarithm."""
    distance = places[:, None] - places[None, :]
    half, exact = count // 2, count // 4
    far = exact + (torch.log(distance.abs().clamp(min=1) / exact) / math.log(128 / exact) * (half - exact)).long()
    near = torch.where(distance.abs() < exact, distance.abs(), far.clamp(max=half - 1))
    return near + half * (distance < 0)


# BERT's numbers of padding, unknown, first and parting token, and MPNet's.
MPNET_TOKENS = {0: 1, 100: 3, 101: 0, 102: 2}

# The names of a tensor in this model and in PyTorch's `BertModel`.
LAYER_NAMES = {"attention_output": "attention.output.dense", "attention_norm": "attention.output.LayerNorm",
               "intermediate": "intermediate.dense", "output": "output.dense", "output_norm": "output.LayerNorm"}
NAMES = {"words": "embeddings.word_embeddings", "positions": "embeddings.position_embeddings",
         "types": "embeddings.token_type_embeddings", "norm": "embeddings.LayerNorm", "head": "head"}


def named(reader):
    """Returns the weights under the names that the product reads."""
    tensors = {}
    for name, value in reader.state_dict().items():
        value = value.detach().float().cpu().numpy()
        if name == "distances":
            tensors.update({name: value} if len(value) else {})
            continue
        path, kind = name.rsplit(".", 1)
        match = re.fullmatch(r"layers\.(\d+)\.(\w+)", path)
        if not match:
            tensors[f"{NAMES[path]}.{kind}"] = value
        elif match[2] == "query_key_value":
            for part, own in zip(("query", "key", "value"), np.split(value, 3)):
                tensors[f"encoder.layer.{match[1]}.attention.self.{part}.{kind}"] = own
        else:
            tensors[f"encoder.layer.{match[1]}.{LAYER_NAMES[match[2]]}.{kind}"] = value
    return tensors


def load(reader, tensors):
    """Takes what there is of the weights under those names; the head may be new."""
    state = reader.state_dict()
    for name in state:
        if name == "distances":
            state[name] = torch.from_numpy(tensors.get(name, state[name].numpy()))
            continue
        path, kind = name.rsplit(".", 1)
        match = re.fullmatch(r"layers\.(\d+)\.(\w+)", path)
        if match and match[2] == "query_key_value":
            prefix = f"encoder.layer.{match[1]}.attention.self."
            parts = [tensors[f"{prefix}{part}.{kind}"] for part in ("query", "key", "value")]
            state[name] = torch.from_numpy(np.concatenate(parts))
        elif match:
            state[name] = torch.from_numpy(tensors[f"encoder.layer.{match[1]}.{LAYER_NAMES[match[2]]}.{kind}"])
        elif path != "head" or f"head.{kind}" in tensors:
            state[name] = torch.from_numpy(tensors[f"{NAMES[path]}.{kind}"])
    reader.load_state_dict(state)


def of_mpnet(path):
    """Returns the weights of an MPNet under those names. Its words are BERT's, after four of its own."""
    stored = load_file(path)
    words = stored["embeddings.word_embeddings.weight"].astype(np.float32)
    ours = words[4:4 + VOCABULARY].copy()
    for token, own in MPNET_TOKENS.items():
        ours[token] = words[own]
    width = ours.shape[1]
    tensors = {"embeddings.word_embeddings.weight": ours, "distances": stored["encoder.relative_attention_bias.weight"],
               "embeddings.position_embeddings.weight": stored["embeddings.position_embeddings.weight"][2:2 + POSITIONS],
               "embeddings.token_type_embeddings.weight": np.zeros((2, width), np.float32)}
    renamed = {"attention.attn.q": "attention.self.query", "attention.attn.k": "attention.self.key", "attention.attn.v": "attention.self.value",
               "attention.attn.o": "attention.output.dense", "attention.LayerNorm": "attention.output.LayerNorm"}
    for name, value in stored.items():
        for theirs, own in renamed.items():
            name = name.replace(theirs, own)
        tensors.setdefault(name, value)
    return {name: value.astype(np.float32) for name, value in tensors.items()}


def of_onnx(path):
    """Returns the weights of a cross-encoder in ONNX with bytes for its weights, and its own head as `pooler`, `classifier`."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    stored = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def floats(name):
        if name in stored:
            return stored[name].astype(np.float32)
        scale, zero = stored[f"{name}_scale"].astype(np.float32), stored[f"{name}_zero_point"].astype(np.float32)
        return (stored[f"{name}_quantized"].astype(np.float32) - zero) * scale

    tensors = {}
    for name in list(stored):
        whole = re.sub(r"_(quantized|scale|zero_point)$", "", name)
        if whole.startswith(("bert.", "classifier.")):
            tensors[whole.removeprefix("bert.")] = floats(whole).copy()
    for node in graph.node:
        if node.op_type in ("MatMul", "MatMulInteger") and node.name.startswith("/bert/encoder"):
            weights = node.input[1].removesuffix("_quantized")
            if f"{weights}_quantized" in stored or weights in stored:
                layer = node.name.strip("/").rsplit("/", 1)[0].replace("/", ".").removeprefix("bert.")
                tensors[f"{layer}.weight"] = np.ascontiguousarray(floats(weights).T)
    return tensors
