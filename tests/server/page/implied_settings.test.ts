import assert from "node:assert/strict";
import { impliedSettings } from "../../../src/server/page/start/implied_settings.ts";

const implied = (kind: "sft" | "train", form: Record<string, unknown>) =>
  impliedSettings(kind, (key) => form[key]);
const unmeasured = { "schedule.measure_start": 0, "schedule.measure_end": 0 };
const onFiles = { "schedule.stop_at_accuracy": 1 };

Deno.test("the page samples solutions where a generator is fine-tuned and answers are known", () => {
  const gsm8k = { path: "a.jsonl", format: "gsm8k" };
  const columns = { question: "q", solution: "s" };
  const answered = { path: "a.csv", columns: { ...columns, answer: "a" } };
  const cases: [Record<string, unknown>, Record<string, unknown>][] = [
    [{ policy: "generator" }, {}],
    [{ policy: "verifier" }, unmeasured],
    [{ policy: "generator", data: { train: [gsm8k, answered] } }, onFiles],
    [
      { policy: "generator", data: { train: [{ path: "a.csv", columns }] } },
      { ...unmeasured, ...onFiles },
    ],
    [
      { policy: "generator", data: { train: [gsm8k], held_out: [{ path: "b.csv", columns }] } },
      { ...unmeasured, ...onFiles },
    ],
    [{ policy: "verifier", data: { train: [gsm8k] } }, { ...unmeasured, ...onFiles }],
  ];
  for (const [form, expected] of cases) assert.deepEqual(implied("sft", form), expected);
  assert.deepEqual(implied("train", { data: { train: [{ path: "a.csv", columns }] } }), {});
});
