/** A server that a test can kill. */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(import.meta.resolve("../../src/cli/main.ts"));

/** A server as a process of its own. */
export interface ServerProcess {
  readonly url: string;
  readonly child: Deno.ChildProcess;
}

/** Starts `tango serve` and waits until it listens; what it starts outlives it. */
export async function startServer(
  root: string,
  port = 0,
  options: readonly string[] = [],
  cwd?: string,
): Promise<ServerProcess> {
  const serve = ["serve", "--port", String(port), "--runs", root, ...options];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", program, ...serve],
    cwd,
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let printed = "";
  for (;;) {
    const { value } = await reader.read();
    printed += value ?? assert.fail("the server did not start");
    const url = /http:\/\/[\d.:]+/.exec(printed)?.[0];
    if (url === undefined) continue;
    void reader.cancel();
    return { url, child };
  }
}
