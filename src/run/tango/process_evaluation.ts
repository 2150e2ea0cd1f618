import type { Metrics } from "../store/metrics_log.ts";
import { loadRecords } from "../../data/files/load_records.ts";
import type { DataRecord, LabelledSolution } from "../../data/files/record.ts";
import { renderSteps } from "../../data/solution_text.ts";
import { streams } from "../../random/philox.ts";
import type { Policy } from "../../rl/policy.ts";
import { firstErrorFound, processMetrics } from "../../rl/measures/process_metrics.ts";
import type { VerifierTemplate } from "../../rl/prompt_template.ts";
import { type ProblemSource, verify } from "../../rl/responses.ts";
import { promptRoom } from "../../rl/verifier_prompt.ts";
import { mean } from "../../base/statistics.ts";
import { writtenSolution } from "../../rl/written_solution.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import type { DataEntry } from "../config/data_schema.ts";
import { UserError } from "../../base/user_error.ts";
import { dataFiles, recordOrder } from "../problems/data_set.ts";
import { rolloutSampling } from "./held_out_evaluation.ts";

/** A problem with a solution whose first wrong step is known. */
export type LabelledRecord = DataRecord & { readonly judged: LabelledSolution };

/** Whether a record has such a solution. */
export const isJudged = (record: DataRecord): record is LabelledRecord => record.judged !== null;

/**
 * Reads files of solutions to be judged.
 *
 * @returns null when the files, or their first rows, hold no such solutions
 */
export async function openJudged(entries: readonly DataEntry[]): Promise<LabelledRecord[] | null> {
  if (entries.length === 0) return null;
  const first = await loadRecords(entries.map((entry) => ({ ...dataFiles(entry), limit: 1 })));
  if (!first.records.every(isJudged)) return null;
  const { records } = await loadRecords(entries.map(dataFiles), { requireJudged: true });
  return records.filter(isJudged);
}

const source: ProblemSource<LabelledRecord> = {
  question: ({ question }) => question,
  referenceAnswer: () => "",
  sourceName: ({ source }) => source,
  isCorrect: () => false,
  isSameAnswer: (_, answer, other) => answer === other,
};

/** Tokens of the prompt that asks for a critique of a record's solution. */
function promptTokens(
  { tokenizer, template }: Policy<VerifierTemplate>,
  { question, judged: { steps } }: LabelledRecord,
): number {
  const prompt = template.render({ question, solution: renderSteps(steps), steps: steps.length });
  return tokenizer.encode(prompt).length;
}

/** Measures whether a verifier finds the first wrong step of written solutions. */
export class ProcessEvaluation {
  readonly #records: readonly LabelledRecord[];
  /** Solutions that leave the verifier no room for a critique. */
  readonly passedOver: number;

  /**
   * @param records of which as many are taken as the configuration evaluates on
   * @throws UserError when none of them leaves room for a critique
   */
  constructor(
    private readonly config: TangoConfig,
    private readonly verifier: Policy<VerifierTemplate>,
    records: readonly LabelledRecord[],
  ) {
    const { seed } = config.evaluation;
    const { maximumPrompt, maximumResponse, config: { maxPositions } } = verifier;
    const room = promptRoom(verifier);
    const fitting = records.filter((record) => promptTokens(verifier, record) <= room);
    if (fitting.length === 0) {
      throw new UserError(
        `None of the ${records.length} solutions makes a prompt of at most ${room} tokens` +
          (room === maximumPrompt
            ? "; raise verifier.maximum_prompt_tokens."
            : `, all that the verifier's ${maxPositions} positions leave beside a critique of ` +
              `${maximumResponse} tokens; lower verifier.max_response_length.`),
      );
    }
    this.passedOver = records.length - fitting.length;
    const count = Math.min(config.evaluation.problems ?? Infinity, fitting.length);
    const order = recordOrder(fitting.length, seed, fitting.length > count);
    this.#records = Array.from({ length: count }, (_, place) => fitting[order.indexAt(place)]);
  }

  /** Number of solutions. */
  get count(): number {
    return this.#records.length;
  }

  /** Tokens of what the verifier is asked about each solution. */
  get promptTokens(): number[] {
    return this.#records.map((record) => promptTokens(this.verifier, record));
  }

  /** One greedy critique of each solution; F1 for each source, and its mean over the sources. */
  async measure(): Promise<Metrics> {
    const solutions = this.#records.map((record) =>
      writtenSolution(record, renderSteps(record.judged.steps), record.judged.firstError < 0)
    );
    const sampling = {
      ...rolloutSampling(this.config, streams.verifierEvaluation, 0),
      temperature: 0,
    };
    const critiques = await verify(this.verifier, source, solutions, 1, sampling);
    const judged = critiques.map(({ parsed, solution: { problem } }) => ({
      source: problem.source,
      found: firstErrorFound(parsed, problem.judged.steps.length),
      firstError: problem.judged.firstError,
    }));
    const metrics: Record<string, number> = {};
    const all: number[] = [];
    for (const name of [...new Set(judged.map(({ source }) => source))].sort()) {
      const { f1, erroneousAccuracy, correctAccuracy } = processMetrics(
        judged.filter(({ source }) => source === name),
      );
      const prefix = `eval/process/by_source/${name}`;
      metrics[`${prefix}/f1_score`] = f1;
      metrics[`${prefix}/erroneous_accuracy`] = erroneousAccuracy;
      metrics[`${prefix}/correct_accuracy`] = correctAccuracy;
      all.push(f1);
    }
    return {
      "eval/process/f1_score": mean(all),
      "eval/process/unjudged": mean(judged.map(({ found }) => found === null ? 1 : 0)),
      ...metrics,
      "eval/verifier/mean_length": mean(critiques.map(({ rollout }) => rollout.tokens.length)),
    };
  }
}
