"""The transformers side of `bench --model FILE --peer`: does what it is told, and says how long it took.

    python transformers_model.py FOLDER [--device cpu|cuda]

FOLDER is a Hugging Face folder in f32. Its first line is what it runs on, {"name", "threads", "torch",
"transformers"}; then one JSON line answers each JSON line of standard input:

    {"do": "log_probs", "dtype": "f32" | "bf16", "tokens": [[…], …]}
        {"log_probs": [[…], …]} of each token but the first, sequences of one length
    {"do": "sample", "dtype", "prompts": [[…], …], "new_tokens": n}
        {"seconds", "cache"} of one generate(): sampling at temperature 1 from the whole vocabulary, nothing stops early
    {"do": "train", "dtype", "tokens": [[…], …], "adapter": FILE | null, "scale": alpha / rank}
        {"seconds", "loss", "gradient_norm"} of forward and backward of the mean cross-entropy: of a LoRA adapter on
        all linear layers, whose matrices FILE holds by PEFT's names, or of all weights

f32 means f32. Attention is transformers' own choice (scaled_dot_product_attention), and of its plain caches, dynamic
and static, generate() gets the one that is faster here at that number of sequences.
"""

import argparse
import json
import platform
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, GenerationConfig

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
CACHES = {"dynamic": {}, "static": {"cache_implementation": "static"}}


class Adapted(torch.nn.Module):
    """x W^T + scale (x A^T) B^T."""

    def __init__(self, base, a, b, scale):
        super().__init__()
        self.base, self.scale = base, scale
        self.a, self.b = (torch.nn.Parameter(m.to(base.weight)) for m in (a, b))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.a), self.b) * self.scale


class Peer:
    def __init__(self, folder, device):
        self.folder, self.device = folder, device
        self.made, self.models, self.cache = None, {}, {}

    def load(self, dtype, adapter=None, scale=1.0, trained=False):
        """The model as asked for; those made for something else are dropped."""
        if self.made != (adapter, trained):
            self.made, self.models = (adapter, trained), {}
        if dtype in self.models:
            return self.models[dtype]
        model = AutoModelForCausalLM.from_pretrained(self.folder, dtype=DTYPES[dtype]).to(self.device)
        model.requires_grad_(trained and adapter is None)
        if adapter is not None:
            matrices = load_file(adapter)
            for key in [key for key in matrices if key.endswith(".lora_A.weight")]:
                name = key.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
                parent, _, child = name.rpartition(".")
                b = matrices[key.replace("lora_A", "lora_B")]
                base = model.get_submodule(name)
                setattr(model.get_submodule(parent), child, Adapted(base, matrices[key], b, scale))
        # What it would say of stop tokens and filters must not count.
        model.generation_config = GenerationConfig(pad_token_id=0)
        self.models[dtype] = model
        return model

    def tensor(self, tokens):
        return torch.tensor(tokens, device=self.device)

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def timed(self, run):
        self.synchronize()
        start = time.perf_counter()
        result = run()
        self.synchronize()
        return time.perf_counter() - start, result

    @torch.no_grad()
    def log_probs(self, dtype, tokens):
        ids = self.tensor(tokens)
        logits = self.load(dtype)(ids).logits[:, :-1].float()
        return {"log_probs": logits.log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0].tolist()}

    @torch.no_grad()
    def generate(self, model, ids, new_tokens, cache):
        options = dict(do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=new_tokens)
        mask = torch.ones_like(ids)
        result = model.generate(ids, attention_mask=mask, **options, **CACHES[cache])
        assert result.shape[1] == ids.shape[1] + new_tokens, result.shape
        return result.cpu()

    def sample(self, dtype, prompts, new_tokens):
        model, ids = self.load(dtype), self.tensor(prompts)
        key = (dtype, len(prompts))
        if key not in self.cache:
            trial = lambda cache: self.timed(lambda: self.generate(model, ids, 8, cache))[0]
            self.cache[key] = min(CACHES, key=lambda cache: (trial(cache), trial(cache))[1])
        cache = self.cache[key]
        seconds, _ = self.timed(lambda: self.generate(model, ids, new_tokens, cache))
        return {"seconds": seconds, "cache": cache}

    def train(self, dtype, tokens, adapter, scale):
        model, ids = self.load(dtype, adapter, scale, trained=True), self.tensor(tokens)
        model.zero_grad(set_to_none=True)

        def run():
            logits = model(ids[:, :-1], use_cache=False).logits
            loss = F.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())
            loss.backward()
            return loss.item()

        seconds, loss = self.timed(run)
        gradients = [p.grad.float().norm() for p in model.parameters() if p.grad is not None]
        return {"seconds": seconds, "loss": loss, "gradient_norm": torch.stack(gradients).norm().item()}


def processor_name():
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return models[0] if models else platform.processor() or platform.machine()


def show(line):
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda if there is one")
    parser.add_argument("--threads", type=int, required=True, help="of the CPU")
    arguments = parser.parse_args()

    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    on_gpu = device.type == "cuda"
    show({
        "name": torch.cuda.get_device_name() if on_gpu else processor_name(),
        "threads": None if on_gpu else torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    })
    peer = Peer(arguments.folder, device)
    for line in sys.stdin:
        request = json.loads(line)
        show(getattr(peer, request.pop("do"))(**request))


if __name__ == "__main__":
    main()
