import { z } from "@hono/zod-openapi";
import { recordKinds } from "../../run/store/audit_log.ts";

const value = z.unknown().optional().describe("Absent where the configuration does not say it.");

const differentText = z.object({
  text: z.string(),
  end: z.int().describe(
    "Where its first token that is another ends, or else its first such character; where it begins, if that token " +
      "adds no text or the text is over.",
  ),
});

/** How two runs differ: `a` is the run that is asked for, `b` the other. */
export const differenceSchema = z.object({
  settings: z.array(z.object({
    key: z.string(),
    step: z.int().describe("The first that it holds in, where it changed on the way; else 0."),
    a: value,
    b: value,
  })),
  inputs: z.array(z.object({
    key: z.string().describe("The configuration key that names it."),
    a: z.string(),
    b: z.string(),
    line: z.int().nullable().describe(
      "The first in which two texts differ; null where they are no texts, or have changed since the run began.",
    ),
  })).describe("Files that were not the same."),
  surroundings: z.array(z.object({
    what: z.string(),
    a: z.string(),
    b: z.string(),
    isVisible: z.boolean().describe("Whether it may show in the bits."),
  })).describe("Program, device, driver, engine, class of bits, kernels, ranks."),
  parting: z.object({
    record: z.object({
      step: z.int(),
      phase: z.enum(recordKinds),
      parts: z.record(z.string(), z.string()).describe("SHA-256 of each."),
      chain: z.string(),
    }).describe("The first that is not the same, as `a` has it."),
    part: z.string().nullable().describe(
      "Its first part that is another; null where `b` has no such record.",
    ),
    same: z.array(z.string()).describe("Parts before it."),
  }).nullable().describe("Null where every record is the same."),
  text: z.object({
    sample: z.int().describe("Among those that are kept of the step, from 1."),
    of: z.enum(["problem", "solution", "critique"]),
    token: z.int().nullable().describe(
      "The first that is another, from 1; null where no tokens are kept.",
    ),
    begin: z.int().describe("As many characters (UTF-16) before it are the same."),
    a: differentText,
    b: differentText,
  }).nullable().describe("The first among the samples that both keep of that step."),
  weights: z.object({
    step: z.int().describe("Of the checkpoint."),
    model: z.string(),
    tensor: z.string(),
    element: z.int().describe("The first that is another, from 0."),
    a: z.string().describe("Its value: a number, -0, NaN or Infinity."),
    b: z.string(),
    count: z.int().describe("Of its elements, those that differ."),
    size: z.int(),
  }).nullable().describe("The first in the earliest checkpoint of a step that both still have."),
  lastStep: z.int().describe("The last that both have done."),
}).openapi("RunDifference");

/** How two runs differ, as the API has it. */
export type RunDifferenceView = z.infer<typeof differenceSchema>;
