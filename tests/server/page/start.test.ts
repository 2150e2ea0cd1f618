import assert from "node:assert/strict";
import { z } from "zod";
import { tangoConfigSchema } from "../../../src/run/config/config_schema.ts";
import { sftConfigSchema } from "../../../src/run/config/sft_config_schema.ts";
import type { Schema } from "../../../src/server/page/api/schema_types.ts";
import {
  defaultAt,
  fieldAt,
  schemaFields,
  settingAt,
  shownValue,
  typedValue,
} from "../../../src/server/page/start/schema_fields.ts";

import { filledKeys } from "../../../src/server/page/start/filled_keys.ts";
import { mainFields } from "../../../src/server/page/start/main_fields.ts";

type Fields = readonly ReturnType<typeof schemaFields>[number][];

const jsonSchema = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" }) as Schema;
const flat = (fields: Fields): Fields => fields.flatMap((one) => [one, ...flat(one.fields)]);
const all = flat(schemaFields(jsonSchema(tangoConfigSchema)));
const field = (key: string) => {
  const found = all.find((one) => one.key === key);
  assert(found !== undefined, key);
  return found;
};

Deno.test("start form: fields of a configuration's own schema", () => {
  assert.deepEqual(
    ["generator", "gpu", "seed", "loss.mask_truncated", "generator.model", "data.train"].map((
      key,
    ) => field(key).kind),
    ["section", "choice", "number", "flag", "text", "json"],
  );
  assert(field("verifier").nullable && field("memory_limit_gb").nullable);
  assert(!field("generator").nullable);
  assert(field("rollout.batch_size").whole && !field("rollout.temperature").whole);
  assert.equal(field("seed").minimum, 0);
  assert.deepEqual(field("gpu").choices, ["auto", "native", "dawn"]);
  assert(flat(schemaFields(jsonSchema(sftConfigSchema))).length > 10);
});

Deno.test("start form: every field but a section says what it is for", () => {
  const silent = all.filter(({ kind, description }) => kind !== "section" && description === "");
  // Its description stands in the section around it.
  assert.deepEqual(silent.map(({ key }) => key).filter((key) => !key.startsWith("data.")), []);
});

Deno.test("start form: what is typed is a value, and shown again as it was typed", () => {
  const rows: [string, string, unknown][] = [
    ["rollout.temperature", "0.7", 0.7],
    ["rollout.temperature", "warm", "warm"],
    ["rollout.temperature", "", ""],
    ["memory_limit_gb", "", null],
    ["loss.mask_truncated", "true", true],
    ["generator.optimizer.betas", "[0.9,0.95]", [0.9, 0.95]],
    ["generator.optimizer.betas", "[0.9", "[0.9"],
    ["gpu", "dawn", "dawn"],
  ];
  for (const [key, text, value] of rows) {
    assert.deepEqual(typedValue(field(key), text), value, `${key} ${text}`);
    if (typeof value !== "string" || text === value) {
      assert.equal(shownValue(field(key), value), text);
    }
  }
});

Deno.test("start form: values of a preset, and else the schema's defaults", () => {
  const preset = { rollout: { batch_size: 4 }, verifier: null };
  assert.equal(settingAt(preset, "rollout.batch_size"), 4);
  assert.equal(settingAt(preset, "verifier"), null);
  assert.equal(settingAt(preset, "rollout.constructor"), undefined);
  const schema = jsonSchema(tangoConfigSchema);
  assert.equal(defaultAt(schema, "samples_per_step"), 8);
  assert.equal(
    defaultAt(schema, "rollout.temperature"),
    tangoConfigSchema.shape.rollout.parse({}).temperature,
  );
  assert.equal(defaultAt(schema, "no.such.key"), undefined);
});

Deno.test("start form: what stands above is in the schema of its kind", () => {
  for (const kind of ["train", "sft", "compare"] as const) {
    const fields = schemaFields(jsonSchema(kind === "sft" ? sftConfigSchema : tangoConfigSchema));
    for (const key of Object.keys(mainFields(kind))) assert(fieldAt(fields, key), key);
  }
});

Deno.test("start form: an address fills in a model, data and other keys, each where its kind has it", () => {
  const nothing = { model: "", data: "", change: "" };
  assert.deepEqual(filledKeys("train", nothing), { keys: {}, problem: null });
  const data = { train: [{ path: "data/mine", columns: { question: "Problem" } }] };
  assert.deepEqual(
    filledKeys("sft", { ...nothing, model: "models/one", data: JSON.stringify(data) }).keys,
    { initial_model: "models/one", data },
  );
  const change = JSON.stringify({ "rollout.batch_size": 16 });
  assert.deepEqual(
    filledKeys("train", { ...nothing, model: "models/one", change }).keys,
    { "generator.model": "models/one", "rollout.batch_size": 16 },
  );
  const { keys, problem } = filledKeys("sft", { ...nothing, data: "{" });
  assert.deepEqual(keys, {});
  assert.match(problem?.message ?? "", /data=\{, which is no JSON/);
});
