/** Why a run failed, by a code that stays as it is when the words of its message change. */

import { z } from "zod";

export const failureReasonSchema = z.discriminatedUnion("code", [
  z.object({
    code: z.literal("diverged"),
    learningRate: z.string().nullable().describe(
      "The key of the learning rate that was too high; null: what does not learn is not trained.",
    ),
  }),
  z.object({
    code: z.literal("out-of-memory"),
    settings: z.record(z.string(), z.string()).describe(
      "Settings with which it takes less, as --set has them; none where it takes a smaller model.",
    ),
  }),
]);

/** Why a run failed. */
export type FailureReason = z.infer<typeof failureReasonSchema>;

/** What an error, or what caused it, says of why it was thrown; null where none does. */
export function reasonOf(error: unknown): FailureReason | null {
  if (!(error instanceof Error)) return null;
  const { data } = failureReasonSchema.safeParse(Reflect.get(error, "reason"));
  return data ?? reasonOf(error.cause);
}
