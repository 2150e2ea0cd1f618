/** Where problems or examples come from when they are not an embedded task's. */

import { z } from "zod";
import { UserError } from "../../base/user_error.ts";
import { formats } from "../../data/files/formats.ts";
import { flag, oneOf, realNumber, section, text, wholeNumber } from "./schema_fields.ts";

const column = () => text("the name of a column, or a path such as reward_model.ground_truth");

/** Which columns of a file hold what. */
export const columnsSchema = section({
  question: z.union([column(), z.array(column()).min(1)], {
    error: "a column or a list of columns",
  }).describe(
    "Several columns are joined by blank lines.",
  ),
  answer: column().optional().describe("The reference answer."),
  solution: column().optional().describe("A written solution, for `sft`."),
  rejected: column().optional().describe(
    "A worse response than the solution, for `preferences` of `sft`.",
  ),
  solution_steps: column().optional().describe(
    "A list of texts.",
  ),
  source: column().optional().describe("A name that measurements go by."),
  judged_steps: column().optional().describe(
    "A solution to be judged, as a list of texts …",
  ),
  first_error: column().optional().describe(
    "… and the place of its first wrong step, from 0, or -1.",
  ),
  comparison: oneOf(["math", "text", "literal"]).optional().describe("How answers are compared."),
});

const [firstFormat, ...otherFormats] = formats.map(({ name }) => name);

const entryFields = {
  path: text("the path of a file or folder").describe(
    "JSON Lines, JSON, CSV, TSV (also gzipped) or Parquet; a folder with such files.",
  ),
  format: oneOf([firstFormat, ...otherFormats]).nullable().default(null).describe(
    "A published data set's; null with `columns`, or to guess from the names.",
  ),
  columns: columnsSchema.nullable().default(null),
  source: text("a name").nullable().default(null).describe(
    "Replaces what the rows say; measurements go by it.",
  ),
  skip: wholeNumber({ minimum: 0 }).default(0).describe(
    "Records that are passed over first, such as those whose solutions fine-tuning has imitated.",
  ),
  limit: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Records that are taken then, from the first on; null: all.",
  ),
};

type Entry = z.output<z.ZodObject<typeof entryFields>>;

function checkReading({ value, issues }: z.core.ParsePayload<Entry>): void {
  if (value.format !== null && value.columns !== null) {
    const message = "null, because format says which columns hold what";
    issues.push({ code: "custom", path: ["columns"], input: value.columns, message });
  }
}

const entrySchema = section(entryFields).check(checkReading);

const trainEntrySchema = section({
  ...entryFields,
  weight: realNumber({ above: 0, maximum: 1000 }).default(1).describe(
    "How often a record comes in one pass through all files: 2, twice; 0.25, in one pass of four.",
  ),
}).check(checkReading);

/** A file or folder of a data set. */
export type DataEntry = z.output<typeof entrySchema>;

/** One that is trained on. */
export type TrainEntry = z.output<typeof trainEntrySchema>;

/** Files with problems, or with examples to imitate. */
export const dataFields = {
  train: z.array(trainEntrySchema, { error: "a list of files" }).min(1, "at least one file")
    .describe(
      "Files or folders, each with `path` and perhaps `format`, `columns`, `source` (a name that measurements go by), `skip` (records passed over), `limit` (records taken) and `weight` (how often they come).",
    ),
  held_out: z.array(entrySchema, { error: "a list of files" }).default([]).describe(
    "Problems that are measured and never trained on; [] sets a tenth of `train` aside, by the " +
      "questions alone: every configuration holds out the same ones.",
  ),
  validation: z.array(entrySchema, { error: "a list of files, or null" }).nullable().default([])
    .describe(
      "Problems that weights are chosen by (`keep_best`), neither trained on nor reported; [] sets another " +
        "tenth of `train` aside, in every configuration; null trains on it, as in the published run: nothing " +
        "can be chosen by then.",
    ),
  shuffle: flag().default(true).describe(
    "A new order in every epoch; false keeps the files' order.",
  ),
  minimum_question_characters: wholeNumber({ minimum: 0 }).default(1).describe(
    "Shorter questions are left out.",
  ),
  maximum_question_characters: wholeNumber({ minimum: 1 }).nullable().default(null).describe(
    "Longer questions are left out; null: none.",
  ),
  maximum_prompt_tokens: wholeNumber({ minimum: 1 }).default(512).describe(
    "Problems with longer prompts are left out; 2048 in the published run.",
  ),
  keep_duplicates: flag().default(false).describe(
    "Keeps every record of a question instead of the first.",
  ),
};

/** Problems from files. */
export const dataSchema = section(dataFields).nullable().default(null);

/** Where the problems of a run come from. */
export type DataConfig = NonNullable<z.output<typeof dataSchema>>;

/** The settings of files that are only measured on. */
export const dataDefaults = z.strictObject(dataFields).omit({ train: true }).parse({});

/** Which columns of a file hold what, by the keys of `columns`. */
export type DataColumns = z.output<typeof columnsSchema>;

/** An entry with nothing but its path, and its format or its columns. */
export function dataEntry(
  path: string,
  format: string | null,
  columns: DataColumns | null = null,
): TrainEntry {
  return trainEntrySchema.parse({ path, format, columns });
}

/**
 * Reads which columns hold what from the command line: `question=prompt answer=final`. A key that is there several times
 * has several columns.
 *
 * @throws UserError naming what is not understood
 */
export function parseColumns(assignments: readonly string[]): DataColumns {
  const named: Record<string, string | string[]> = {};
  for (const assignment of assignments) {
    const [, key, column] = /^([^=]+)=(.+)$/s.exec(assignment) ?? [];
    if (key === undefined || !Object.hasOwn(columnsSchema.shape, key)) {
      throw new UserError(
        `--columns ${assignment}: expected key=column with one of the keys ${
          Object.keys(columnsSchema.shape).join(", ")
        }, such as question=prompt.`,
      );
    }
    named[key] = key in named ? [named[key], column].flat() : column;
  }
  const { data, error } = columnsSchema.safeParse(named);
  if (data !== undefined) return data;
  const [{ path, message }] = error.issues;
  throw new UserError(`--columns: ${path.join(".")}: ${message}`);
}

/** Examples from files. */
export const exampleDataSchema = section({
  ...dataFields,
  maximum_prompt_tokens: wholeNumber({ minimum: 1 }).default(512).describe(
    "Examples with longer prompts are left out; 4096 in the published fine-tuning.",
  ),
  maximum_response_tokens: wholeNumber({ minimum: 1 }).default(1024).describe(
    "Examples with longer responses are left out; 4096 in the published fine-tuning.",
  ),
  response: oneOf(["solution", "steps"]).default("solution").describe(
    "What is imitated: the solution as written, or its steps and answer in the generator's format; " +
      "the latter in the published fine-tuning.",
  ),
}).nullable().default(null);
