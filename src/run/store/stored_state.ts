/** What the states of both kinds of run have in a checkpoint. */

import { z } from "zod";
import { countSchema } from "./stored_checkpoint.ts";

/** The best evaluation so far. */
export const bestSchema = z.object({ step: countSchema, value: z.number() });

/** Updates made by each optimizer. */
export const optimizerStepsSchema = z.record(z.string(), countSchema);

/** Absent in checkpoints of earlier versions, which were written only where nothing was skipped. */
export const skippedInARowSchema = z.object({
  generator: countSchema.optional(),
  verifier: countSchema.optional(),
}).default({});
