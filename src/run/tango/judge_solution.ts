import type { Gpu } from "../../gpu/gpu.ts";
import { streams } from "../../random/philox.ts";
import { generatorTemplate, verifierTemplate } from "../../rl/prompt_template.ts";
import { parseCritique } from "../../rl/text/parse_critique.ts";
import { parseSolution } from "../../rl/text/parse_solution.ts";
import { verifierPrompt } from "../../rl/verifier_prompt.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { expectCritiques } from "../config/expect_critiques.ts";
import type { StoredCheckpoint } from "../store/stored_checkpoint.ts";
import { AskedPolicy } from "./asked_policy.ts";

/** A problem or solution to judge, and how to sample. */
export interface JudgeOptions {
  readonly problem: string;
  /** Null: the generator writes one. */
  readonly solution: string | null;
  readonly temperature: number;
  readonly seed: number;
  /** Told of both texts piece by piece. */
  readonly onText: (kind: "solution" | "critique", piece: string) => void;
}

/** A solution and what a verifier says of it. */
export interface JudgedSolution {
  /** Step of the checkpoint. */
  readonly step: number;
  readonly problem: string;
  readonly solution: string;
  readonly steps: readonly string[];
  readonly answer: string | null;
  readonly critique: string;
  /** True for CORRECT; as many as the critique has well-formed ones. */
  readonly stepJudgments: readonly boolean[];
  /** Null when it could not be read. */
  readonly verdict: boolean | null;
}

/**
 * Has a run's verifier, as a checkpoint left it, judge a solution, which its generator writes unless it is
 * given. One of them is on the GPU at a time.
 *
 * @throws UserError when the run has no verifier that writes, a file is missing or the texts are too long
 */
export async function judgeSolution(
  gpu: Gpu,
  config: TangoConfig,
  checkpoint: StoredCheckpoint,
  { problem, solution: given, temperature, seed, onText }: JudgeOptions,
): Promise<JudgedSolution> {
  expectCritiques(config);
  const { step } = checkpoint;
  const { rollout: { top_k: topK, top_p: topP, min_p: minP } } = config;
  const sampling = { temperature, topK, topP, minP, seed, stream: streams.evaluation, step };

  const solve = async () => {
    const generator = await AskedPolicy.open(
      gpu,
      config,
      "generator",
      generatorTemplate,
      checkpoint,
    );
    try {
      const { tokenizer, template } = generator.prompted;
      const prompt = tokenizer.encode(template.render({ question: problem }));
      const { text } = await generator.ask(prompt, sampling, (piece) => onText("solution", piece));
      return text;
    } finally {
      generator.release();
    }
  };
  const solution = given ?? await solve();
  const parsed = parseSolution(solution);
  const steps = parsed.steps.map(({ text }) => text);

  const verifier = await AskedPolicy.open(gpu, config, "verifier", verifierTemplate, checkpoint);
  try {
    const asked = { question: problem, solution, steps: steps.length };
    const { prompt } = verifierPrompt(verifier.prompted, asked);
    const { text: critique } = await verifier.ask(
      prompt,
      sampling,
      (piece) => onText("critique", piece),
    );
    const { stepJudgments, verdict } = parseCritique(critique);
    const { answer } = parsed;
    return { step, problem, solution, steps, answer, critique, stepJudgments, verdict };
  } finally {
    verifier.release();
  }
}
