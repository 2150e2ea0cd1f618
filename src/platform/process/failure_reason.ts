/** Why a run failed, by a code that stays as it is when the words of its message change. */

import { z } from "zod";
import { exists, writeFileAtomically } from "../files/atomic_file.ts";

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

/** Names the file in which a process that fails writes why; whoever started it reads that. */
export const REASON_FILE = "TANGO_REASON_FILE";

/** What an error, or what caused it, says of why it was thrown; null where none does. */
export function reasonOf(error: unknown): FailureReason | null {
  if (!(error instanceof Error)) return null;
  const { data } = failureReasonSchema.safeParse(Reflect.get(error, "reason"));
  return data ?? reasonOf(error.cause);
}

/** What a process has written into such a file; null where it has said nothing that is understood. */
export function readReason(path: string): FailureReason | null {
  if (!exists(path)) return null;
  try {
    return failureReasonSchema.parse(JSON.parse(Deno.readTextFileSync(path)));
  } catch {
    return null; // a program of another version has written it
  }
}

/** Writes why this process fails, where somebody wants to know. */
export function writeReason(error: unknown): void {
  const path = Deno.env.get(REASON_FILE);
  const reason = reasonOf(error);
  if (path !== undefined && reason !== null) writeFileAtomically(path, JSON.stringify(reason));
}
