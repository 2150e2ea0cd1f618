import { fileURLToPath } from "node:url";
import { UserError } from "../src/base/user_error.ts";
import { resultKey } from "./results.ts";

/** What PyTorch measured on this machine. */
export interface PeerResults {
  /** Device, version and storage type in words. */
  readonly description: string;
  /** Milliseconds by `resultKey`. */
  readonly milliseconds: ReadonlyMap<string, number>;
}

interface PeerLine {
  readonly name?: string;
  readonly shape?: string;
  readonly milliseconds?: number;
  readonly device?: string;
  readonly threads?: number;
  readonly torch?: string;
  readonly dtype?: string;
}

/**
 * Runs bench/peers/pytorch.py on the same shapes.
 *
 * @throws UserError when Python or PyTorch is missing or the script fails
 */
export async function runPeer(
  python: string,
  options: { readonly filter: string; readonly seconds: number; readonly cpu: boolean },
): Promise<PeerResults> {
  const script = fileURLToPath(new URL("./peers/pytorch.py", import.meta.url));
  const args = [script, "--filter", options.filter, "--seconds", `${options.seconds}`];
  if (options.cpu) args.push("--device", "cpu");
  let output: Deno.CommandOutput;
  try {
    output = await new Deno.Command(python, { args, stderr: "piped" }).output();
  } catch (cause) {
    throw new UserError(
      `--python ${python} cannot be run: ${cause instanceof Error ? cause.message : cause}`,
    );
  }
  if (!output.success) {
    const lastLine = new TextDecoder().decode(output.stderr).trim().split("\n").at(-1);
    throw new UserError(
      `bench/peers/pytorch.py failed with ${python}: ${lastLine}. It needs PyTorch: ` +
        "python3 -m venv .venv && .venv/bin/pip install -r bench/peers/requirements.txt, " +
        "then --peer --python .venv/bin/python",
    );
  }
  return readPeerLines(new TextDecoder().decode(output.stdout));
}

/** Reads the script's JSON lines: what it ran on, then one per result. */
export function readPeerLines(text: string): PeerResults {
  const lines = text.trim().split("\n").map((line) => JSON.parse(line) as PeerLine);
  const { device, name, threads, torch, dtype } = lines[0];
  const milliseconds = new Map<string, number>();
  for (const line of lines.slice(1)) {
    if (line.name && line.shape && line.milliseconds !== undefined) {
      milliseconds.set(resultKey({ name: line.name, shape: line.shape }), line.milliseconds);
    }
  }
  const where = device === "cpu" ? `${name}, ${threads} threads` : name;
  return { description: `PyTorch ${torch}, ${dtype}, on ${where}`, milliseconds };
}
