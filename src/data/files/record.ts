import type { Place, Row } from "./row.ts";

/** How a given answer is compared with the reference: as mathematics, as words, or character by character. */
export type ComparisonKind = "math" | "text" | "literal";

/** The kinds of comparison. */
export const comparisons: readonly ComparisonKind[] = ["math", "text", "literal"];

/** A problem of a data set. */
export interface DataRecord {
  readonly question: string;
  /** The reference answer; null where there is none. */
  readonly answer: string | null;
  readonly comparison: ComparisonKind;
  /** Steps of the reference solution in order; null where there are none. */
  readonly solutionSteps: readonly string[] | null;
  /** The reference solution or the response to imitate; null where there is none. */
  readonly solution: string | null;
  /** A worse response than `solution`; null where there is none. */
  readonly rejected: string | null;
  /** Name by which measurements per source are kept. */
  readonly source: string;
  /** A given solution to be judged; null where there is none. */
  readonly judged: LabelledSolution | null;
}

/** A solution by its steps whose first mistake is known. */
export interface LabelledSolution {
  readonly steps: readonly string[];
  /** Place of the first wrong step, from 0; -1 when all are right. */
  readonly firstError: number;
}

/** A row that is not for this use, and why: a few words that the report counts under. */
export interface LeftOut {
  readonly leftOut: string;
}

/** How the rows of a published data set become records. */
export interface Format {
  readonly name: string;
  /** Contents of the set, in one line for lists of formats. */
  readonly description: string;
  /** The columns that are looked at; which of them a file must have, `toRecord` says. */
  readonly columns: readonly string[];
  /** The record of a row. Throws a UserError that names place and column when the row is malformed. */
  toRecord(row: Row, place: Place): DataRecord | LeftOut;
}

/** A record of the parts that are given; what is not given is absent. */
export function makeRecord(
  parts: Partial<DataRecord> & Pick<DataRecord, "question" | "source">,
): DataRecord {
  return {
    answer: null,
    comparison: "math",
    solutionSteps: null,
    solution: null,
    rejected: null,
    judged: null,
    ...parts,
  };
}
