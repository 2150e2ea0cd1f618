import { BufferTooLarge } from "../../gpu/buffer_pool.ts";
import { deviceMemory } from "../../platform/gpus/device_memory.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import type { FailureReason } from "../../base/failure_reason.ts";
import { UserError } from "../../base/user_error.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import type { MemoryPlan } from "./memory_plan.ts";
import type { Shrink } from "./shrink.ts";

/** How a message writes limits and changes. */
export interface Spelling {
  /** Name of the limit. */
  readonly limit: string;
  readonly change: (key: string, value: string) => string;
}

const quoted = (assignment: string) => /[ {}]/.test(assignment) ? `'${assignment}'` : assignment;

const asKeys: Spelling = {
  limit: "memory_limit_gb",
  change: (key, value) => `--set ${quoted(`${key}=${value}`)}`,
};

/** For a command without a configuration. */
export const asOptions: Spelling = {
  limit: "--memory-limit",
  change: (key, value) => `--${key} ${value}`,
};

/** A run that takes more than there is; `settings` are those with which it fits, none where none help. */
class TooLarge extends UserError {
  readonly reason: FailureReason;

  constructor(message: string, settings: ReadonlyMap<string, string>) {
    super(message);
    this.reason = { code: "out-of-memory", settings: Object.fromEntries(settings) };
  }
}

/** How a kind of run is planned and made smaller. */
export interface MemoryCheck<Config> {
  readonly config: Config;
  /** GB that may be taken; null: what the device is known to have. */
  readonly limit: number | null;
  /** @throws BufferTooLarge when a single buffer is larger than the device binds */
  readonly plan: (config: Config) => Promise<MemoryPlan>;
  /** In the order in which they are tried, each on top of those before it. */
  readonly shrinks: readonly Shrink<Config>[];
  /** By default as keys of a configuration. */
  readonly spelling?: Spelling;
}

/**
 * Plans a run's memory and holds the GPU to it.
 *
 * @throws UserError naming settings that would fit when it does not
 */
export async function checkMemory<Config>(gpu: Gpu, run: MemoryCheck<Config>): Promise<MemoryPlan> {
  const limit = limitOf(gpu, run);
  let problem: string;
  try {
    const plan = await run.plan(run.config);
    if (plan.peakBytes <= limit.bytes) {
      gpu.pool.budgetBytes = plan.peakBytes;
      gpu.pool.peakBytes = gpu.pool.liveBytes;
      return plan;
    }
    problem = `This run takes up to ${formatBytes(plan.peakBytes)} of GPU memory, and ` +
      `${formatBytes(limit.bytes)} may be taken (${limit.origin}).`;
  } catch (error) {
    if (!(error instanceof BufferTooLarge)) throw error;
    problem = error.message;
  }
  const { words, settings } = await advice(run, limit.bytes);
  throw new TooLarge(`${problem} ${words}`, settings);
}

function limitOf<Config>(
  gpu: Gpu,
  { limit, spelling = asKeys }: MemoryCheck<Config>,
): { bytes: number; origin: string } {
  if (limit !== null) return { bytes: limit * 1e9, origin: spelling.limit };
  return deviceMemory(gpu.info) ?? { bytes: Infinity, origin: "no limit is known" };
}

async function advice<Config>(
  { config, plan, shrinks, spelling = asKeys }: MemoryCheck<Config>,
  limit: number,
): Promise<{ readonly words: string; readonly settings: ReadonlyMap<string, string> }> {
  const settings = new Map<string, string>();
  let present = config;
  let smallest = Infinity;
  for (const shrink of shrinks) {
    for (let next = shrink(present); next !== null; next = shrink(present)) {
      present = next.config;
      for (const [key, value] of Object.entries(next.set)) settings.set(key, value);
      const bytes = await peakOf(plan, present);
      smallest = Math.min(smallest, bytes);
      if (bytes > limit) continue;
      const changes = [...settings].map(([key, value]) => spelling.change(key, value));
      return { words: `It fits, with ${formatBytes(bytes)}, with: ${changes.join(" ")}`, settings };
    }
  }
  const words = smallest === Infinity
    ? "No smaller settings help; take a smaller model."
    : `The smallest settings take ${
      formatBytes(smallest)
    }; take shorter responses or a smaller model.`;
  return { words, settings: new Map() };
}

async function peakOf<Config>(
  plan: (config: Config) => Promise<MemoryPlan>,
  config: Config,
): Promise<number> {
  try {
    return (await plan(config)).peakBytes;
  } catch (error) {
    if (error instanceof BufferTooLarge) return Infinity;
    throw error;
  }
}
