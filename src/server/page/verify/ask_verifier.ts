import { send } from "../live/api.ts";
import { jsonLines } from "../live/json_lines.ts";
import type { JudgedSolution } from "../../../run/tango/judge_solution.ts";
import type { z } from "zod";
import type { verifySchema } from "../../launches/verify_request.ts";

/** What POST /api/verify is asked. */
export type VerifyRequest = z.input<typeof verifySchema>;

/** What both policies write, piece by piece, and the judgment at last. */
export type Told =
  | { readonly type: "solution" | "critique"; readonly text: string }
  | { readonly type: "judged" } & JudgedSolution;

/**
 * Has a run's verifier judge a solution.
 *
 * @throws what it failed with
 */
export async function* askVerifier(
  body: VerifyRequest,
  signal: AbortSignal,
): AsyncGenerator<Told> {
  const response = await send("POST", "/api/verify", { body, signal });
  if (response.body === null) return;
  for await (const line of jsonLines(response.body)) {
    const told = line as Told | { readonly type: "failed"; readonly message: string };
    if (told.type === "failed") throw new Error(told.message);
    yield told;
  }
}
