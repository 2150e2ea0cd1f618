import { z } from "zod";
import type { RunProcess } from "./control_file.ts";
import type { ControlAnswer, ControlRequest } from "./control_request.ts";
import { close, receivedLines, sendLine } from "./lines.ts";

const status = z.object({
  step: z.int(),
  total: z.int().nullable(),
  phase: z.string().nullable(),
  isPauseRequested: z.boolean(),
  isStopRequested: z.boolean(),
  memory: z.object({ planned: z.number().nullable(), live: z.number(), peak: z.number() }),
});
const answerSchema = z.discriminatedUnion("ok", [
  z.object({ ok: z.literal(true), status }),
  z.object({ ok: z.literal(false), message: z.string() }),
]) as unknown as z.ZodType<ControlAnswer>;

const CANNOT_BE_ASKED =
  "A run on Windows cannot be asked for anything while it goes on: Ctrl-C in its window stops it after its step.";

/**
 * Asks a run for something. It hears that between two steps at the latest, so the answer may take as long as a step;
 * whoever waits no longer has asked nevertheless.
 *
 * @param signal ends the waiting
 * @returns null when the run has gone away before it answered, or the waiting was ended
 */
export async function askRun(
  { socket }: RunProcess,
  request: ControlRequest,
  signal: AbortSignal,
): Promise<ControlAnswer | null> {
  if (socket === null) return { ok: false, message: CANNOT_BE_ASKED };
  using ending = new DisposableStack();
  try {
    const connection = await Deno.connect({ transport: "unix", path: socket });
    const end = () => close(connection);
    ending.defer(end);
    await sendLine(connection, request);
    if (signal.aborted) return null;
    signal.addEventListener("abort", end);
    ending.defer(() => signal.removeEventListener("abort", end));
    for await (const line of receivedLines(connection)) {
      return parse(line ?? "");
    }
    return null;
  } catch (error) {
    if (error instanceof TypeError) throw error; // a fault of this program
    return null; // the socket or its process is gone
  }
}

/** The answer is checked: another version of the program may answer in another way. */
function parse(line: string): ControlAnswer {
  try {
    const { data } = answerSchema.safeParse(JSON.parse(line));
    if (data) return data;
  } catch {
    // falls through to the one message
  }
  return { ok: false, message: `The run's answer is none that is known: ${line.slice(0, 60)}` };
}
