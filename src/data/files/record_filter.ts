import { UserError } from "../../base/user_error.ts";
import type { DataRecord } from "./record.ts";

/** Which records a use can take. */
export interface RecordFilters {
  /** Bounds on the length of a question in characters (UTF-16 units), both included. */
  readonly minimumQuestionCharacters?: number;
  readonly maximumQuestionCharacters?: number;
  /** Records without a reference answer are dropped. */
  readonly requireAnswer?: boolean;
  /** Records without a solution are dropped. */
  readonly requireSolution?: boolean;
  /** Records without a worse response beside the solution are dropped. */
  readonly requireRejected?: boolean;
  /** Records without a solution in steps are dropped. */
  readonly requireSteps?: boolean;
  /** Records without a solution to be judged are dropped. */
  readonly requireJudged?: boolean;
  /** Keep every record of a question, not only the first: several solutions to learn from. */
  readonly keepDuplicates?: boolean;
  /** Records whose questions are dropped: a held-out set that must not be trained on. */
  readonly exclude?: Iterable<DataRecord>;
}

/** Says why a record is dropped, in words that reports count under; null when it is kept. */
export type RecordFilter = (record: DataRecord) => string | null;

/**
 * A filter for one data set. It remembers what it kept, to find duplicates. Throws a UserError when the
 * bounds on the length are not whole numbers with minimum <= maximum.
 */
export function makeRecordFilter(filters: RecordFilters): RecordFilter {
  const { minimumQuestionCharacters: minimum = 0, maximumQuestionCharacters: maximum = Infinity } =
    filters;
  const isBound = (bound: number) => bound === Infinity || (Number.isInteger(bound) && bound >= 0);
  if (!isBound(minimum) || !isBound(maximum) || minimum > maximum) {
    throw new UserError(
      `minimum_question_characters, maximum_question_characters: found ${minimum} and ${maximum}, ` +
        "expected whole numbers from 0 up, the first not above the second.",
    );
  }
  const excluded = new Set<string>();
  for (const record of filters.exclude ?? []) excluded.add(normalized(record.question));
  const answers = new Map<string, string | null>();

  return (record) => {
    const { length } = record.question;
    if (length < minimum) return `question shorter than ${minimum} characters`;
    if (length > maximum) return `question longer than ${maximum} characters`;
    if (filters.requireAnswer && record.answer === null) return "no reference answer";
    if (filters.requireSolution && record.solution === null) return "no solution";
    if (filters.requireRejected && record.rejected === null) return "no rejected response";
    if (filters.requireRejected && record.rejected === record.solution) {
      return "both responses are equal";
    }
    if (filters.requireSteps && !record.solutionSteps?.length) return "no steps";
    if (filters.requireJudged && record.judged === null) return "no solution to be judged";
    const question = normalized(record.question);
    if (excluded.has(question)) return "question of the excluded set";
    if (filters.keepDuplicates) return null;
    const key = identityOf(record, question, filters);
    const first = answers.get(key);
    if (first === undefined) {
      answers.set(key, record.answer);
      return null;
    }
    return first === record.answer ? "duplicate" : "duplicate with another answer";
  };
}

/** A question for comparing: white space does not tell them apart. The same string where it can be. */
export function normalized(question: string): string {
  return /^\s|\s$|\s\s|[^\S ]/.test(question) ? question.trim().replace(/\s+/g, " ") : question;
}

/** Solutions to be judged, and pairs where they are asked for, come several to a question, and all count. */
function identityOf(
  { judged, solution, rejected }: DataRecord,
  question: string,
  { requireRejected = false }: RecordFilters,
): string {
  if (requireRejected) return JSON.stringify([question, solution, rejected]);
  return judged === null ? question : [question, ...judged.steps].join("\n");
}
