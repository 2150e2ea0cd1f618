/** `judgments.jsonl`: what verifiers said of the solutions of a bank, one line for each verifier and source. */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { JsonLinesLog, readJsonLines, type StepLine } from "../store/json_lines_log.ts";

const critiqueSchema = z.object({
  /** The final judgment; null when it could not be read. */
  verdict: z.boolean().nullable(),
  /** P(CORRECT) as the verifier gave it; null with the verdict. */
  probability: z.number().min(0).max(1).nullable(),
  /** Judgments of the steps as parsed. */
  steps: z.array(z.boolean()),
  /** P(INCORRECT) of each of them; absent in lines of earlier versions. */
  doubts: z.array(z.number().min(0).max(1)).optional(),
  /** Whether its own result differs from what each step claims, where it works one out; likewise. */
  own_differs: z.array(z.boolean().nullable()).optional(),
});

/** A critique, without its text. */
export type BankCritique = z.output<typeof critiqueSchema>;

const settingsSchema = z.object({
  samples: z.int().positive(),
  seed: z.int().nonnegative(),
  /** How the verifier was prompted and sampled. */
  max_response_length: z.int().positive(),
  maximum_prompt_tokens: z.int().positive().nullable(),
  prompt_template: z.string(),
  chat: z.boolean(),
  system_prompt: z.string().nullable(),
  precision: z.string(),
  cache_dtype: z.string(),
  frozen_dtype: z.string(),
});

/** What judgments depend on besides the verifier's weights and the solutions. */
export type JudgmentSettings = z.output<typeof settingsSchema>;

const lineSchema = z.object({
  /** Step of the verifier; 0 for a model by itself, as for what a run began with. */
  step: z.int().nonnegative(),
  verifier: z.string(),
  run: z.string().nullable(),
  /** Hash of the verifier's weights. */
  weights: z.string(),
  /** Hash of the bank. */
  bank: z.string(),
  source: z.string(),
  settings: settingsSchema,
  /** Critiques of each of the source's solutions, in the bank's order. */
  critiques: z.array(z.array(critiqueSchema)),
  /** Solutions of which the verifier's prompt had room for the beginning only. */
  cut: z.int().nonnegative(),
});

/** What a verifier said of a source's solutions. */
export type JudgedSource = z.output<typeof lineSchema>;

/** What judgments are found by. */
export type JudgmentKey = Pick<
  JudgedSource,
  "verifier" | "weights" | "bank" | "source" | "settings"
>;

/** The judgments that were made so far; each line is on the disk before the next begins. */
export class JudgmentsFile implements Disposable {
  readonly #log: JsonLinesLog<JudgedSource & StepLine>;
  readonly #lines: JudgedSource[];

  /**
   * Opens the file, or a new one. A last line cut short by a crash is removed, damaged ones are set aside.
   *
   * @throws UserError when a line is of another kind, or the disk does not take it
   */
  constructor(path: string) {
    const isThere = exists(path);
    this.#log = new JsonLinesLog(path, Infinity);
    try {
      this.#lines = isThere
        ? readJsonLines(path).map((line, i) => parse(line, `${path}:${i + 1}`))
        : [];
    } catch (error) {
      this.#log.close();
      throw error;
    }
  }

  /** Damage that was found, in words: what is lost is judged anew. */
  get damage(): string | null {
    return this.#log.damage;
  }

  /** Whether there are judgments of the key, with all that is measured now. */
  has(key: JudgmentKey): boolean {
    return this.#lines.some((line) =>
      isDeepStrictEqual(keyOf(line), keyOf(key)) &&
      line.critiques.every((own) => own.every(({ doubts }) => doubts !== undefined))
    );
  }

  add(line: JudgedSource): void {
    this.#log.append(line);
    this.#log.sync();
    this.#lines.push(line);
  }

  /**
   * The judgments of a bank by each verifier with as many critiques and the same seed, verifiers in the order in which
   * they were first judged: those asked for as they are asked for, others as they were judged last. Never are judgments
   * by other weights or settings among one verifier's.
   *
   * @param asked in whatever order
   */
  of(
    bank: string,
    { samples, seed }: Pick<JudgmentSettings, "samples" | "seed">,
    asked: readonly JudgmentKey[],
  ): JudgedSource[] {
    const lines = this.#lines.filter(({ bank: of, settings }) =>
      of === bank && settings.samples === samples && settings.seed === seed
    );
    return [...Map.groupBy(lines, ({ verifier }) => verifier)].flatMap(([verifier, own]) => {
      const { weights, settings } = asked.find((key) => key.verifier === verifier) ??
        own[own.length - 1];
      const alike = own.filter((line) =>
        line.weights === weights && isDeepStrictEqual(line.settings, settings)
      );
      return [...new Map(alike.map((line) => [line.source, line])).values()];
    });
  }

  [Symbol.dispose](): void {
    this.#log.close();
  }
}

function keyOf({ verifier, weights, bank, source, settings }: JudgmentKey): JudgmentKey {
  return { verifier, weights, bank, source, settings };
}

function parse(line: unknown, place: string): JudgedSource {
  const { data, error } = lineSchema.safeParse(line);
  if (data) return data;
  const [issue] = error.issues;
  throw new UserError(
    `${place} is damaged: ${
      issue.path.join(".") || "the whole"
    }: ${issue.message}. Remove that line, and its ` +
      `judgments are made anew.`,
  );
}
