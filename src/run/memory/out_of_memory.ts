import type { FailureReason } from "../../base/failure_reason.ts";
import { OutOfMemory } from "../../gpu/gpu_failure.ts";
import type { Shrink } from "./shrink.ts";

/** A run whose GPU had no memory left. */
class RunOutOfMemory extends OutOfMemory {
  readonly reason: FailureReason;

  constructor(message: string, settings: ReadonlyMap<string, string>, cause: OutOfMemory) {
    super(message, { cause });
    this.reason = { code: "out-of-memory", settings: Object.fromEntries(settings) };
  }
}

/** Settings that advice names. */
const MOST_NAMED = 3;

/**
 * An error with what to lower, where it says that the GPU had no memory left though the run was planned to fit; any
 * other as it is.
 *
 * @param shrinks of that kind of run, those first that cost least
 */
export function withMemoryAdvice<Config>(
  error: unknown,
  config: Config,
  shrinks: readonly Shrink<Config>[],
): unknown {
  if (!(error instanceof OutOfMemory)) return error;
  const settings = new Map<string, string>();
  for (let [present, i] = [config, 0]; i < shrinks.length && settings.size < MOST_NAMED; i++) {
    const next = shrinks[i](present);
    if (next === null) continue;
    present = next.config;
    for (const [key, value] of Object.entries(next.set)) settings.set(key, value);
  }
  const smaller = settings.size === 0
    ? "take a smaller model"
    : `begin a run that takes less, such as with ${
      [...settings].map(([key, value]) => `${key}=${value}`).join(", ")
    }`;
  const advice = `End what else runs on the GPU and go on with this run, or ${smaller}.`;
  return new RunOutOfMemory(`${error.message} ${advice}`, settings, error);
}
