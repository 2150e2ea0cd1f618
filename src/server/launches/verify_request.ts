import { z } from "@hono/zod-openapi";
import { WITHOUT_NUL } from "./run_process.ts";

// They are arguments of a process, which have no NUL in them and at most 128 KiB each.
const text = z.string().min(1).max(40_000).regex(WITHOUT_NUL, "expected no NUL");

/** What a run's verifier is asked. */
export const verifySchema = z.strictObject({
  run: z.string().min(1).max(255),
  checkpoint: z.int().min(0).max(2 ** 40).nullable().default(null)
    .describe("As they were after this step; null: in the newest checkpoint."),
  problem: text,
  solution: text.nullable().default(null)
    .describe("<think><step>…</step></think><answer>\\boxed{…}</answer>"),
  temperature: z.number().min(0).max(10).default(0).describe(
    "Of sampling; 0 takes the likeliest token.",
  ),
  seed: z.int().min(0).max(2 ** 32 - 1).default(0),
});
