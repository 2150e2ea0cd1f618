import { UserError } from "../../base/user_error.ts";
import { type ModuleFile, moduleFile } from "../../platform/system/module_file.ts";

/** A response as a reward function is given it. */
export interface RewardedResponse {
  readonly question: string;
  readonly referenceAnswer: string;
  /** Where the problem comes from: the task's name or the data file's. */
  readonly source: string;
  /** The whole response as the model wrote it. */
  readonly response: string;
  /** The extracted final answer, or null where there is none. */
  readonly answer: string | null;
  /** Texts of the reasoning steps, in order. */
  readonly steps: readonly string[];
  /** Whether the response ended by itself, not at the length limit. */
  readonly finished: boolean;
  /** Whether the answer equals the reference. */
  readonly correct: boolean;
}

/** A reward, with numbers of its own to be logged beside it. */
export interface RewardWithMetrics {
  readonly reward: number;
  readonly metrics?: Readonly<Record<string, number>>;
}

/**
 * The default export of a reward module. It takes the place of the rule that a correct answer earns 1 and
 * any other 0:
 *
 *     import type { RewardFunction } from "…/src/rl/reward/reward_module.ts";
 *     const reward: RewardFunction = ({ correct, steps }) => (correct ? 1 : 0) - 0.01 * steps.length;
 *     export default reward;
 */
export type RewardFunction = (
  response: RewardedResponse,
) => number | RewardWithMetrics | Promise<number | RewardWithMetrics>;

const EXAMPLE = "export default ({ correct }) => correct ? 1 : 0";

/**
 * Imports a TypeScript or JavaScript module and returns its default export.
 *
 * @param path from the working directory
 * @throws {UserError} the file is missing, cannot be imported, or has no function as default export
 */
export async function loadRewardModule(path: string): Promise<RewardFunction> {
  const asked = await moduleFile(path);
  if (!asked.found) {
    throw new UserError(
      `${path}: there is no such reward module (looked for ${asked.file}). Name a TypeScript file, from the ` +
        `folder the command is run in.`,
    );
  }
  const module = await importModule(path, asked);
  if (!("default" in module)) {
    throw new UserError(
      `${path}: the reward module has no default export. Export the reward function, as in: ${EXAMPLE}`,
    );
  }
  if (typeof module.default !== "function") {
    throw new UserError(
      `${path}: the reward module's default export is ${
        describe(module.default)
      }, not a function. ` +
        `Export the reward function, as in: ${EXAMPLE}`,
    );
  }
  return module.default as RewardFunction;
}

/**
 * Calls a reward function and checks what it returns.
 *
 * @param path the module's path, for messages
 * @throws {UserError} the function throws, or its reward or one of its metrics is no finite number
 */
export async function callReward(
  reward: RewardFunction,
  response: RewardedResponse,
  path: string,
): Promise<{ reward: number; metrics: Readonly<Record<string, number>> }> {
  const place = `${path}: for the question ${
    quoteBeginning(response.question)
  } the reward function`;
  let result: unknown;
  try {
    result = await reward(response);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UserError(`${place} failed: ${reason}`, { cause: error });
  }
  const fields = typeof result === "number" ? { reward: result } : result;
  if (!isRecord(fields) || !isFiniteNumber(fields.reward)) {
    throw new UserError(
      `${place} returned ${
        describe(result)
      }. It must return a finite number, or { reward, metrics } ` +
        `with a finite reward.`,
    );
  }
  const metrics = fields.metrics ?? {};
  if (!isRecord(metrics)) {
    throw new UserError(
      `${place} returned metrics that are ${describe(metrics)}. They must be an object of numbers.`,
    );
  }
  for (const [name, value] of Object.entries(metrics)) {
    if (!isFiniteNumber(value)) {
      throw new UserError(
        `${place} returned ${describe(value)} as metric "${name}". Metrics must be finite numbers.`,
      );
    }
  }
  return { reward: fields.reward, metrics: metrics as Record<string, number> };
}

async function importModule(
  path: string,
  module: ModuleFile,
): Promise<Record<string, unknown>> {
  try {
    return await module.load();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UserError(`${path}: the reward module cannot be imported: ${reason}`, {
      cause: error,
    });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** A value as a message shows it, cut short. */
function describe(value: unknown): string {
  if (typeof value === "number" || value === undefined || value === null) return String(value);
  if (typeof value === "function") return "a function";
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    // A cycle or a bigint: its type says enough.
  }
  return text === undefined
    ? `a ${typeof value}`
    : text.length > 80
    ? `${text.slice(0, 80)}…`
    : text;
}

function quoteBeginning(question: string): string {
  const line = question.replaceAll(/\s+/g, " ").trim();
  return JSON.stringify(line.length > 60 ? `${line.slice(0, 60)}…` : line);
}
