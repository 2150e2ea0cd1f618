"""The cookbook's recipe of direct preference optimisation, unchanged, on a served model, and beside it what `./tango sft`
did with the same pairs, rate and seed. In an environment with PyTorch and transformers:

    pip install -r tests/clients/requirements.txt chz cloudpickle datasets blobfile rich termcolor pyrage pillow
    pip install --no-deps tinker-cookbook==0.6.1
    ./tango export --model SmolLM2-135M-Instruct.Q4_1.gguf --output smollm2
    ./tango sft --config dpo.yaml
    ./tango serve --model smollm2
    TINKER_BASE_URL=http://127.0.0.1:8000 TINKER_API_KEY=tml-none HF_HUB_OFFLINE=1 \\
      python tests/clients/cookbook_dpo.py --model smollm2 --pairs pairs.jsonl --metrics runs/NAME/metrics.jsonl

`--model` is the folder that is served, by the name that it has there. dpo.yaml is that of docs/data.md with as many pairs
in an update as pairs.jsonl has, since each trainer has an order of its own, and an optimizer as the recipe's:
`{learning_rate: 0.001, betas: [0.9, 0.95], weight_decay: 0.0, max_gradient_norm: 1000000}`. Fails where losses or margins
of an update differ by more than the bound.
"""

import argparse
import functools
import json
import tempfile
from pathlib import Path

import chz
import tinker
import transformers
from tinker_cookbook.preference import train_dpo
from tinker_cookbook.supervised.types import ChatDatasetBuilder, ChatDatasetBuilderCommonConfig, SupervisedDataset

# Sums of some hundred log-probs are rounded in another order, and go through f32 on their way to the client.
BOUND = 2e-4


class Pairs(SupervisedDataset):
    """All pairs in one batch: the order of examples is each trainer's own."""

    def __init__(self, datums):
        self.datums = datums

    def get_batch(self, index):
        return self.datums

    def __len__(self):
        return 1


def datum(tokenizer, prompt, response):
    asked = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], tokenize=True, add_generation_prompt=True, return_dict=False
    )
    said = tokenizer.encode(response, add_special_tokens=False) + [tokenizer.eos_token_id]
    tokens = asked + said
    weights = [0.0] * (len(asked) - 1) + [1.0] * len(said)
    return tinker.Datum(
        model_input=tinker.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={
            "target_tokens": tinker.TensorData(data=tokens[1:], dtype="int64", shape=[len(weights)]),
            "weights": tinker.TensorData(data=weights, dtype="float32", shape=[len(weights)]),
        },
    )


@chz.chz
class PairsBuilder(ChatDatasetBuilder):
    model: str
    path: str

    def __call__(self):
        tokenizer = transformers.AutoTokenizer.from_pretrained(self.model)
        rows = [json.loads(line) for line in Path(self.path).read_text().splitlines()]
        return Pairs([datum(tokenizer, row["prompt"], row[key]) for row in rows for key in ("chosen", "rejected")]), None


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser()
    for name in ("model", "pairs", "metrics"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--rank", type=int, default=16)
    asked = parser.parse_args()
    ours = [line for line in lines(asked.metrics) if "sft/preference_margin" in line]
    # The recipe leaves an adapter's seed to chance.
    begin = tinker.ServiceClient.create_lora_training_client
    tinker.ServiceClient.create_lora_training_client = functools.partialmethod(begin, seed=0)
    common = ChatDatasetBuilderCommonConfig(
        model_name_for_tokenizer=asked.model, renderer_name="role_colon", max_length=None, batch_size=1
    )
    with tempfile.TemporaryDirectory() as folder:
        train_dpo.main(
            train_dpo.Config(
                log_path=folder,
                model_name=asked.model,
                recipe_name="dpo",
                renderer_name="role_colon",
                dataset_builder=PairsBuilder(common_config=common, model=asked.model, path=asked.pairs),
                learning_rate=asked.rate,
                lr_schedule="constant",
                num_epochs=len(ours),
                lora_rank=asked.rank,
                eval_every=0,
                infrequent_eval_every=0,
                save_every=0,
            )
        )
        theirs = [line for line in lines(Path(folder) / "metrics.jsonl") if "dpo_loss" in line]
    assert len(theirs) == len(ours), (len(theirs), len(ours))
    for step, (one, other) in enumerate(zip(ours, theirs), 1):
        pairs = [(one["sft/loss"], other["dpo_loss"]), (one["sft/preference_margin"], other["margin"])]
        print(f"update {step}: " + ", ".join(f"{a:.5f} {b:.5f}" for a, b in pairs))
        assert all(abs(a - b) <= BOUND * max(1, abs(b)) for a, b in pairs), pairs


main()
