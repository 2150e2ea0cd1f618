/** Where problems or examples come from when they are not an embedded task's. */

import { z } from "zod";
import { formats } from "../../data/files/formats.ts";
import { flag, oneOf, section, text, wholeNumber } from "./schema_fields.ts";

const column = () => text("the name of a column, or a path such as reward_model.ground_truth");

/** Which columns of a file hold what. */
const columnsSchema = section({
  /** Several columns are joined by blank lines. */
  question: z.union([column(), z.array(column()).min(1)], {
    error: "a column or a list of columns",
  }),
  answer: column().optional(),
  solution: column().optional(),
  /** A list of texts. */
  solution_steps: column().optional(),
  source: column().optional(),
  /** A solution to be judged, as a list of texts … */
  judged_steps: column().optional(),
  /** … and the place of its first wrong step, from 0, or -1. */
  first_error: column().optional(),
  comparison: oneOf(["math", "text", "literal"]).optional(),
});

const [firstFormat, ...otherFormats] = formats.map(({ name }) => name);

const entrySchema = section({
  path: text("the path of a file or folder"),
  /** A published data set's; null with `columns`, or to guess from the names. */
  format: oneOf([firstFormat, ...otherFormats]).nullable().default(null),
  columns: columnsSchema.nullable().default(null),
  /** Replaces what the rows say; measurements go by it. */
  source: text("a name").nullable().default(null),
  /** Records that are taken, from the first on; null: all. */
  limit: wholeNumber({ minimum: 1 }).nullable().default(null),
}).check(({ value, issues }) => {
  if (value.format !== null && value.columns !== null) {
    const message = "null, because format says which columns hold what";
    issues.push({ code: "custom", path: ["columns"], input: value.columns, message });
  }
});

/** One file or folder of a data set. */
export type DataEntry = z.output<typeof entrySchema>;

/** Files with problems, or with examples to imitate. */
export const dataFields = {
  train: z.array(entrySchema, { error: "a list of files" }).min(1, "at least one file"),
  /** Problems that are measured and never trained on; [] sets some of `train` aside. */
  held_out: z.array(entrySchema, { error: "a list of files" }).default([]),
  /** A new order in every epoch; false keeps the files' order. */
  shuffle: flag().default(true),
  minimum_question_characters: wholeNumber({ minimum: 0 }).default(1),
  maximum_question_characters: wholeNumber({ minimum: 1 }).nullable().default(null),
  /** Problems with longer prompts are left out. */
  maximum_prompt_tokens: wholeNumber({ minimum: 1 }).default(512),
  /** Keeps every record of a question instead of the first. */
  keep_duplicates: flag().default(false),
};

/** Problems from files. */
export const dataSchema = section(dataFields).nullable().default(null);

/** Where the problems of a run come from. */
export type DataConfig = NonNullable<z.output<typeof dataSchema>>;

/** The settings of files that are only measured on. */
export const dataDefaults = z.strictObject(dataFields).omit({ train: true }).parse({});

/** One entry with nothing but its path and format. */
export function dataEntry(path: string, format: string | null): DataEntry {
  return entrySchema.parse({ path, format });
}

/** Examples from files. */
export const exampleDataSchema = section({
  ...dataFields,
  /** Examples with longer responses are left out. */
  maximum_response_tokens: wholeNumber({ minimum: 1 }).default(1024),
  /** What is imitated: the solution as written, or its steps and answer in the generator's format. */
  response: oneOf(["solution", "steps"]).default("solution"),
}).nullable().default(null);
