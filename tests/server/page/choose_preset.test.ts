import assert from "node:assert/strict";
import { listPresets, type Preset } from "../../../src/server/launches/presets.ts";
import { choosePreset } from "../../../src/server/page/start/choose_preset.ts";
import { settingAt } from "../../../src/server/page/start/schema_fields.ts";
import type { ListedModel } from "../../../src/server/page/models/listed_models.ts";

const MODEL: ListedModel = {
  ...{ name: "models/mine", path: "models/mine", kind: "model", bytes: 1, parameters: 152_000 },
  ...{ base: null, hasChat: true, run: null, step: null, policy: null, files: [] },
  ...{ problem: null, served: null, isOwn: true },
};
const LARGE = { ...MODEL, path: "models/large", parameters: 360_000_000 };
const ADAPTER = { ...MODEL, path: "models/adapter", kind: "adapter" as const, parameters: 90_000 };
const UNKNOWN = { ...MODEL, path: "models/unknown", parameters: null };
const MODELS = [MODEL, LARGE, ADAPTER, UNKNOWN];
const PRESETS = listPresets();

/** The preset's name and the rate of what it trains. */
function chosen(kind: Preset["kind"], model: string): [string | undefined, unknown] {
  const preset = choosePreset(PRESETS.filter((one) => one.kind === kind), model, MODELS);
  const key = kind === "sft" ? "optimizer.learning_rate" : "generator.optimizer.learning_rate";
  return [preset?.name, settingAt(preset?.configuration ?? {}, key)];
}

Deno.test("start form: a preset fits the model, and none that is pretrained gets the rate of a tiny one", () => {
  for (const model of ["", "models/mine"]) {
    assert.deepEqual(chosen("sft", model), ["last-letter-generator-sft", 0.003]);
    assert.deepEqual(chosen("train", model), ["chains", 0.0001]);
  }
  for (const model of ["models/large", "models/adapter", "models/unknown", "models/unlisted"]) {
    assert.deepEqual(chosen("sft", model), ["lfm2-1.2b-sft", 0.0002], model);
    assert.deepEqual(chosen("train", model), ["lfm2-1.2b", 0.00002], model);
  }
});

Deno.test("start form: a preset that begins with the model goes before all others", () => {
  assert.equal(chosen("train", "weights/arithmetic/generator")[0], "arithmetic");
  assert.equal(chosen("train", "models/SmolLM2-135M-Instruct")[0], "smollm2-135m");
  assert.equal(chosen("sft", "models/SmolLM2-135M-Instruct")[0], "smollm2-135m-sft");
});

Deno.test("start form: where there is no preset that trains adapters, it is the first, and of none there is none", () => {
  const first = PRESETS.filter(({ name }) => name === "last-letter");
  assert.equal(choosePreset(first, "models/large", MODELS)?.name, "last-letter");
  assert.equal(choosePreset([], "models/large", MODELS), undefined);
});
