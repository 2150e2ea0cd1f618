import { join } from "node:path";
import type { ToldEvent } from "../../src/run/events/told_event.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import type { Sample } from "../../src/run/store/samples_log.ts";

/** A run's folder whose logs a test writes as a run would. */
export class WrittenRun {
  readonly folder: RunFolder;
  #events = 0;

  constructor(root: string, name: string, configuration: object = {}) {
    this.folder = RunFolder.create(join(root, name), configuration);
  }

  event(told: ToldEvent, time: Date = new Date()): void {
    const line = { number: ++this.#events, time: time.toISOString(), ...told };
    append(this.folder.events, line);
  }

  /** A training step's line of metrics and of timings. */
  step(
    step: number,
    phase: "generator" | "verifier",
    metrics: Record<string, number>,
    seconds = 1,
  ): void {
    append(this.folder.metrics, { step, phase, ...metrics });
    append(this.folder.timings, { step, phase, "perf/step_seconds": seconds });
  }

  evaluation(step: number, metrics: Record<string, number>): void {
    append(this.folder.metrics, { step, phase: "evaluation", ...metrics });
  }

  sample(sample: Partial<Sample>): void {
    const plain = { step: 1, phase: "generator", version: 0, problem: "p", referenceAnswer: "1" };
    const written = { solution: "s", steps: [], answer: "1", correct: true, critiques: [] };
    append(this.folder.samples, { ...plain, ...written, ...sample });
  }

  /** Keeps the logs' first lines, as a resumed run does. */
  cutTo(lines: number): void {
    for (const path of [this.folder.metrics, this.folder.timings]) {
      const kept = Deno.readTextFileSync(path).split("\n").slice(0, lines);
      Deno.writeTextFileSync(path, kept.map((line) => `${line}\n`).join(""));
    }
  }
}

function append(path: string, line: object): void {
  Deno.writeTextFileSync(path, `${JSON.stringify(line)}\n`, { append: true });
}

/** A folder that is removed in the end. */
export async function withFolder(body: (root: string) => Promise<void> | void): Promise<void> {
  const root = Deno.makeTempDirSync();
  try {
    await body(root);
  } finally {
    Deno.removeSync(root, { recursive: true });
  }
}

/** So often may a test ask: not as often as the server refuses. */
export const breath = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
