import { RunFolder } from "../../src/run/store/run_folder.ts";

/** A run with many rows of metrics. */
export interface ManyRows {
  readonly lastStep: number;
  readonly names: readonly string[];
}

const PER_POLICY = ["reward", "policy_loss", "kl", "entropy", "grad_norm", "learning_rate"];
const POLICIES = ["generator", "verifier"] as const;
const LINES_AT_ONCE = 10_000;

/**
 * Writes the metrics of a run that took turns at each step.
 *
 * @param keep leaves those that are there already, of as many rows
 */
export function writeManyRows(path: string, rows: number, keep: boolean): ManyRows {
  const names = POLICIES.flatMap((policy) => PER_POLICY.map((name) => `${policy}/${name}`));
  const folder = RunFolder.at(path);
  if (keep && folder.isUsed) return { lastStep: rows, names };
  if (folder.isUsed) Deno.removeSync(path, { recursive: true });
  RunFolder.create(path, {});
  using file = Deno.openSync(folder.metrics, { write: true, create: true });
  for (let begin = 0; begin < rows; begin += LINES_AT_ONCE) {
    let text = "";
    for (let row = begin; row < Math.min(rows, begin + LINES_AT_ONCE); row++) {
      const policy = POLICIES[row % 2];
      const metrics = PER_POLICY.map((name, place) => [
        `${policy}/${name}`,
        Math.sin(row / 1000 + place) + Math.random(),
      ]);
      text += `${
        JSON.stringify({ step: row + 1, phase: policy, ...Object.fromEntries(metrics) })
      }\n`;
    }
    const bytes = new TextEncoder().encode(text);
    for (let written = 0; written < bytes.length;) {
      written += file.writeSync(bytes.subarray(written));
    }
  }
  return { lastStep: rows, names };
}
