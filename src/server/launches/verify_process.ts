import { childEnvironment } from "./child_environment.ts";
import { lastLines } from "./run_process.ts";
import type { z } from "zod";
import type { verifySchema } from "./verify_request.ts";

/**
 * Has `tango verify` judge a solution, in a process of its own: waiting for a GPU would hold up the server.
 *
 * @param program the main module of the command line
 * @param folder of the run
 * @param onEnd called once, when the process is gone
 * @param ending ends the process
 * @returns its JSON lines as they come; a last one of type `failed` when it cannot be done. To cancel the stream
 *   ends the process
 */
export function verifyInProcess(
  program: string,
  folder: string,
  { checkpoint, problem, solution, temperature, seed }: Omit<z.output<typeof verifySchema>, "run">,
  onEnd: () => void,
  ending: AbortSignal,
): ReadableStream<Uint8Array> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--node-modules-dir=manual", program, "verify", "--json", "--run", folder],
      ...(checkpoint === null ? [] : ["--checkpoint", String(checkpoint)]),
      ...(solution === null ? [] : [`--solution=${solution}`]),
      ...["--temperature", String(temperature), "--seed", String(seed), "--", problem],
    ],
    env: childEnvironment(),
    clearEnv: true,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: ending,
  }).spawn();
  const errors = new Response(child.stderr).text();
  const end = async () => {
    const { success, code } = await child.status;
    onEnd();
    if (success) return null;
    return lastLines(await errors) ?? `It ended with exit code ${code}.`;
  };
  return child.stdout.pipeThrough(
    new TransformStream({
      async flush(controller) {
        const message = await end();
        if (message === null) return;
        const line = `${JSON.stringify({ type: "failed", message })}\n`;
        controller.enqueue(new TextEncoder().encode(line));
      },
      async cancel() {
        child.kill("SIGKILL");
        await end();
      },
    }),
  );
}
