/** The configuration of a teacher, who writes solutions that others are fine-tuned on. */

import type { z } from "zod";
import { dataFields } from "./data_schema.ts";
import { oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";
import {
  cacheDtypeSchema,
  chatFields,
  frozenDtypeSchema,
  gpuSchema,
  memoryLimitSchema,
  precisionSchema,
  promptTemplateSchema,
  seedSchema,
  systemPromptNeedsChat,
} from "./shared_schema.ts";

/** An endpoint that speaks OpenAI's API. */
const serverSchema = section({
  url: text("an address").describe("Such as `http://127.0.0.1:8000/v1`."),
  model: text("a name").describe("What the model is called there."),
  key_variable: text("the name of an environment variable, or null").nullable().default(null)
    .describe("What holds the API key; it is never written anywhere."),
  jobs: wholeNumber({ minimum: 1 }).default(8).describe("Problems that are asked at once."),
}).nullable().default(null);

/** Schema of a teacher's configuration file. */
export const teacherConfigSchema = section({
  seed: seedSchema,
  gpu: gpuSchema,
  precision: precisionSchema,
  frozen_dtype: frozenDtypeSchema,
  cache_dtype: cacheDtypeSchema,
  memory_limit_gb: memoryLimitSchema,
  data: section(dataFields).check(({ value: { train }, issues }) => {
    train.forEach(({ weight }, place) => {
      if (weight === 1) return;
      const message = "1, because each problem is solved once";
      issues.push({ code: "custom", path: ["train", place, "weight"], input: weight, message });
    });
  }).describe(
    "Problems; of `train` all that is not held out is solved, in the files' order.",
  ),
  problems: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Problems to solve, those that come first; null: all.",
  ),
  model: text("the path of a model folder or .gguf file, or null").nullable().default(null)
    .describe("The teacher; null with `server`."),
  server: serverSchema.describe("A teacher elsewhere, in the place of `model`."),
  prompt_template: promptTemplateSchema("generator.txt", "How problems are put."),
  ...chatFields,
  answers: wholeNumber({ minimum: 1 }).default(1).describe("Solutions of each problem."),
  temperature: realNumber({ minimum: 0 }).default(1).describe(
    "Of sampling; 0 takes the likeliest tokens.",
  ),
  top_p: realNumber({ above: 0, maximum: 1 }).default(1).describe(
    "Only the likeliest tokens that together have this probability; 1 means all.",
  ),
  max_response_length: wholeNumber({ minimum: 1 }).default(1024).describe(
    "Tokens after which a solution is cut off.",
  ),
  batch_size: wholeNumber({ minimum: 1 }).default(64).describe(
    "Problems between two writings of what there is.",
  ),
  decode_slots: wholeNumber({ minimum: 1 }).default(64).describe(
    "Sequences decoded at once; finished ones make room for waiting ones.",
  ),
  keep: oneOf(["right", "formatted", "all"]).default("right").describe(
    "Solutions that are kept: the `right` ones in the generator's format, all that are in the format, whether or not they are right, or all that came to their end.",
  ),
  minimum_steps: wholeNumber({ minimum: 0 }).default(1).describe(
    "Steps below which a solution is not in the format.",
  ),
  output: text("the path of a .jsonl file").describe("Where what is kept goes."),
}).check(({ value, issues }) => {
  const { model, server, temperature, answers, chat, system_prompt } = value;
  const impossible = (key: keyof typeof value, message: string) =>
    issues.push({ code: "custom", path: [key], input: value[key], message });
  if (model === null && server === null) impossible("model", "a model, or null with server");
  if (model !== null && server !== null) impossible("server", "null, because model is the teacher");
  if (temperature === 0 && answers > 1) {
    impossible("answers", "1, because at temperature 0 all of them are the same");
  }
  if (!chat && system_prompt !== null) impossible("system_prompt", systemPromptNeedsChat);
});

/** A teacher's configuration. */
export type TeacherConfig = z.output<typeof teacherConfigSchema>;
