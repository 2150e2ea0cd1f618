import { formatBytes } from "../../base/format_bytes.ts";
import { UserError } from "../../base/user_error.ts";
import { freeDeviceMemory } from "../../platform/gpus/device_memory.ts";
import type { Gpu } from "../../gpu/gpu.ts";
import { generatorTemplate, verifierTemplate } from "../../rl/prompt_template.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import { promptRoom, verifierPrompt } from "../../rl/verifier_prompt.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { AskedPolicy } from "../tango/asked_policy.ts";
import { anySampling } from "./any_numbers.ts";
import { type MemoryPlan, rehearsePhases } from "./memory_plan.ts";

/** Texts to judge. */
export interface JudgedTexts {
  readonly problem: string;
  /** Null: the generator writes one, which may be as long as it can. */
  readonly solution: string | null;
}

/**
 * GPU memory of asking a run's policies: one after the other, and no more than sampling takes.
 *
 * @throws UserError when the run has no verifier, a file is missing or the texts are too long
 */
export async function planJudgingMemory(
  gpu: Gpu,
  config: TangoConfig,
  checkpoint: StoredCheckpoint,
  { problem, solution }: JudgedTexts,
): Promise<MemoryPlan> {
  const rehearsal = gpu.rehearsal();
  const solve = async () => {
    const opened = [rehearsal, config, "generator", generatorTemplate, checkpoint] as const;
    const generator = await AskedPolicy.open(...opened);
    try {
      const { tokenizer, template } = generator.prompted;
      const prompt = tokenizer.encode(template.render({ question: problem }));
      await generator.ask(prompt, anySampling, () => {});
    } finally {
      generator.release();
    }
  };
  const judge = async () => {
    const opened = [rehearsal, config, "verifier", verifierTemplate, checkpoint] as const;
    const verifier = await AskedPolicy.open(...opened);
    try {
      const { prompted } = verifier;
      const { steps } = parseSolution(solution ?? "");
      const asked = { question: problem, solution: solution ?? "", steps: steps.length };
      const { prompt } = verifierPrompt(prompted, asked);
      const written = solution === null ? config.generator.max_response_length : 0;
      const room = Math.max(prompt.length, promptRoom(prompted));
      const longest = Math.min(prompt.length + written, room);
      await verifier.ask(new Uint32Array(longest).fill(1), anySampling, () => {});
    } finally {
      verifier.release();
    }
  };
  return await rehearsePhases(rehearsal, [], [
    ...(solution === null ? [{ what: "the generator writes", run: solve }] : []),
    { what: "the verifier judges", run: judge },
  ]);
}

/**
 * Plans what asking takes, and holds the GPU to it.
 *
 * @throws UserError also when less is free, beside the runs that go on or other programs
 */
export async function checkJudgingMemory(
  gpu: Gpu,
  config: TangoConfig,
  checkpoint: StoredCheckpoint,
  texts: JudgedTexts,
): Promise<MemoryPlan> {
  const plan = await planJudgingMemory(gpu, config, checkpoint, texts);
  const free = freeDeviceMemory(gpu.info);
  const limit = config.memory_limit_gb === null ? Infinity : config.memory_limit_gb * 1e9;
  const refuse = (what: string, advice: string): never => {
    throw new UserError(
      `To judge this takes up to ${
        formatBytes(plan.peakBytes)
      } of GPU memory, and ${what}. ${advice}`,
    );
  };
  if (plan.peakBytes > limit) {
    refuse(
      `the run's memory_limit_gb is ${config.memory_limit_gb}`,
      "Judge something shorter, or on another machine.",
    );
  }
  if (free !== null && plan.peakBytes > free.bytes) {
    refuse(
      `only ${formatBytes(free.bytes)} are free (${free.origin})`,
      "What goes on there has the rest: wait until it has ended or stop it, which saves it. A run that is paused " +
        "keeps its memory.",
    );
  }
  gpu.pool.budgetBytes = plan.peakBytes;
  return plan;
}
