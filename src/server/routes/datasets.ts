/** Data sets: files with problems or examples that runs can be started on. */

import { z } from "@hono/zod-openapi";
import { camelCased } from "../../base/camel_cased.ts";
import { type RecordCheck, type RecordUse, recordUses } from "../../data/files/check_records.ts";
import { formats } from "../../data/files/formats.ts";
import { valueKinds } from "../../data/files/preview_rows.ts";
import { columnsSchema } from "../../run/config/data_schema.ts";
import {
  DATA_NAME,
  type DataSets,
  LARGEST_UPLOAD,
  type StoredDataSet,
} from "../datasets/data_sets.ts";
import { type KeptReadings, type Mapping, mappingSchema } from "../datasets/kept_readings.ts";
import { readData } from "../datasets/reading.ts";
import { RequestProblem } from "../http/problem.ts";
import { gone, json, jsonBody, route } from "../http/route.ts";
import type { AllRuns } from "../launches/all_runs.ts";
import type { LaunchStore } from "../launches/launch_store.ts";
import { usersOf } from "../launches/path_users.ts";
import { pullRequestSchema, pullSchema } from "../models/model_schemas.ts";
import type { Pulls } from "../models/pulls.ts";
import { newApi, numberParameter } from "./api.ts";

const dataSetSchema = z.object({
  name: z.string(),
  path: z.string().describe("What a configuration calls it."),
  isOwn: z.boolean().describe(
    "Whether it may be added to and removed: it did not come with the program.",
  ),
  bytes: z.number(),
  files: z.array(z.object({ path: z.string(), bytes: z.number() })).describe(
    "Those that can be read, by their paths in it.",
  ),
}).openapi("DataSet");

/** A data set as it is listed. */
export type ListedDataSet = z.infer<typeof dataSetSchema>;

const dataListSchema = z.object({
  datasets: z.array(dataSetSchema),
  pulls: z.array(pullSchema).describe("What is being fetched, or was since the server began."),
});

/** Data sets on the disk, and what is being fetched. */
export type DataList = z.infer<typeof dataListSchema>;

const nameField = z.string().regex(DATA_NAME, "expected letters, digits, _, . and -, at most 100");
const fileField = z.string().min(1).max(1000).optional().describe(
  "A file of it; left out: all of them together.",
);
const nameParameter = z.object({
  name: nameField.openapi({ param: { name: "name", in: "path" }, example: "mine" }),
});

const previewSchema = z.object({
  rows: z.int().describe("That were looked at, at most 200,000."),
  isWhole: z.boolean().describe("Whether these are all."),
  columns: z.array(z.object({ name: z.string(), kinds: z.array(z.enum(valueKinds)) })),
  first: z.array(z.record(z.string(), z.unknown())).describe("Long values are cut."),
  mapping: mappingSchema.nullable().describe(
    "How it would be read: as was checked last, else as the names suggest; null where nothing tells.",
  ),
  problem: z.string().nullable().describe("Why nothing tells."),
  formats: z.array(z.string()).describe(
    "Published formats, in one of which it may be all the same.",
  ),
});

/** What is in a data set. */
export type DataPreview = z.infer<typeof previewSchema>;

const usable = z.object({
  records: z.int(),
  validation: z.int().describe("Of these, set aside to choose weights by."),
  test: z.int().describe("Of these, set aside to be reported."),
  dropped: z.array(z.object({ reason: z.string(), count: z.int(), first: z.string() })),
  problem: z.string().nullable().describe("Why no run could use it so; null: one can."),
});

const checkSchema = z.object({
  rows: z.int(),
  isWhole: z.boolean().describe("Whether these are all."),
  errors: z.int().describe("Rows that no run gets past: it ends with the first of them."),
  firstErrors: z.array(z.string()),
  first: z.array(z.object({
    question: z.string(),
    answer: z.string().nullable(),
    solution: z.string().nullable(),
    steps: z.array(z.string()).nullable(),
    rejected: z.string().nullable().describe("A worse response than the solution."),
  })),
  uses: z.object(
    {
      train: usable,
      solutions: usable,
      steps: usable,
      pairs: usable,
    } satisfies Record<RecordUse, unknown>,
  ).describe(
    "As problems of `train`, as solutions that `sft` imitates, as steps that `sft` imitates or makes critiques of, " +
      "as pairs by which `sft` with `preferences` prefers.",
  ),
  data: z.record(z.string(), z.unknown()).describe(
    "The key `data` of a configuration that reads it so: training files alone, of which parts are set aside.",
  ),
});

/** What a run would find in a data set. */
export type CheckedData = z.infer<typeof checkSchema>;

const list = route("get", "/api/datasets", {
  summary: "Data sets on the disk: uploaded, fetched, and those that come with the program",
  200: json("By name.", dataListSchema),
});

const fetching = route("post", "/api/datasets/pull", {
  summary: "Fetches a data set from the Hugging Face Hub, or goes on with that",
  body: jsonBody(pullRequestSchema("the files of data that can be read")),
  202: json("It is under way; GET /api/datasets says how far.", pullSchema),
  refuses: [409],
});

const add = route("put", "/api/datasets/{name}/{file}", {
  summary: "Uploads a file of data; its data set is made when there is none",
  params: nameParameter.extend({
    file: nameField.openapi({ param: { name: "file", in: "path" }, example: "problems.csv" }),
  }),
  query: z.object({
    replace: z.enum(["true", "false"]).default("false").describe(
      "Whether a file of that name gives way; else it is refused.",
    ),
  }),
  body: {
    required: true,
    description:
      `The file as it is, at most ${LARGEST_UPLOAD} bytes: .csv, .tsv, .jsonl, .json (each ` +
      "also with .gz) or .parquet.",
    content: {
      "application/octet-stream": { schema: z.string().openapi({ format: "binary" }) },
    },
  },
  201: json("The data set with it.", dataSetSchema),
  refuses: [409],
});

const preview = route("get", "/api/datasets/{name}/preview", {
  summary: "The first rows of a data set, its columns, and how it would be read",
  params: nameParameter,
  query: z.object({
    file: fileField,
    rows: numberParameter(1, 100).default(20).openapi({ default: 20 }),
  }),
  200: json("What is in it.", previewSchema),
  refuses: [404, 500],
});

const check = route("post", "/api/datasets/{name}/check", {
  summary:
    "How many rows make problems by a mapping of columns, which is kept, and what is wrong with the others",
  params: nameParameter,
  body: jsonBody(
    z.strictObject({
      file: fileField,
      format: z.enum(formats.map(({ name }) => name) as [string, ...string[]]).optional(),
      columns: columnsSchema.optional().describe(
        "Without format and columns: as was checked last, else as the names suggest.",
      ),
    }).refine(({ format, columns }) => !(format && columns), "format or columns, not both"),
  ),
  200: json("What a run would find.", checkSchema),
  refuses: [404, 500],
});

const remove = route("delete", "/api/datasets/{name}", {
  summary: "Removes a data set, or one of its files",
  params: nameParameter,
  query: z.object({ file: fileField }),
  ...gone,
  refuses: [404, 409],
});

/** Routes of data sets. */
export function datasetsRoutes(
  sets: DataSets,
  readings: KeptReadings,
  pulls: Pulls,
  runs: AllRuns,
  launches: LaunchStore,
) {
  return newApi()
    .openapi(list, (context) => {
      return context.json({ datasets: sets.all.map(describe), pulls: pulls.all }, 200);
    })
    .openapi(fetching, (context) => {
      const { id, revision = "main", files = [] } = context.req.valid("json");
      return context.json(pulls.begin(id, revision, files), 202);
    })
    .openapi(add, async (context) => {
      const { name, file } = context.req.valid("param");
      const replace = context.req.valid("query").replace === "true";
      const length = context.req.header("content-length");
      const bytes = length === undefined ? null : Number(length);
      const body = context.req.raw.body;
      if (body === null || bytes === 0) {
        throw new RequestProblem(400, "Nothing was sent: the body is the file.");
      }
      return context.json(describe(await sets.add({ name, file, bytes, replace }, body)), 201);
    })
    .openapi(preview, async (context) => {
      const { file = null, rows } = context.req.valid("query");
      const { name } = context.req.valid("param");
      const path = sets.placeOf(name, file);
      const asked = { what: "preview", path, shown: rows } as const;
      const { reading, ...found } = await readData(asked, context.req.raw.signal);
      const { columns, first, problem, ...counts } = found;
      const kept = readings.of(name, file);
      return context.json({
        ...counts,
        first: [...first],
        columns: columns.map(({ name, kinds }) => ({ name, kinds: [...kinds] })),
        mapping: kept ?? (reading && mappingOf(reading)),
        problem: kept === null ? problem : null,
        formats: formats.map(({ name }) => name),
      }, 200);
    })
    .openapi(check, async (context) => {
      const { file = null, ...named } = context.req.valid("json");
      const { name } = context.req.valid("param");
      const path = sets.placeOf(name, file);
      const kept = named.format || named.columns ? null : readings.of(name, file);
      const format = named.format ?? kept?.format ?? undefined;
      const columns = named.columns ?? kept?.columns ?? undefined;
      const asked = { format, columns: columns && camelCased(columns) };
      const found = await readData({ what: "check", path, asked }, context.req.raw.signal);
      const entry = { path, ...(columns ? { columns } : mappingOf(found.reading)) };
      if (kept === null && (format || columns) && found.errors === 0) {
        readings.keep(name, file, { format: format ?? null, columns: columns ?? null });
      }
      return context.json({
        ...checked(found),
        data: { train: [entry], held_out: [], validation: [] },
      }, 200);
    })
    .openapi(remove, (context) => {
      const { name } = context.req.valid("param");
      const { file = null } = context.req.valid("query");
      const [user] = usersOf(sets.placeOf(name, file), runs, launches);
      if (user) throw new RequestProblem(409, `The run ${user} uses it: stop that first.`);
      if (pulls.isFetching(sets.require(name).path)) {
        throw new RequestProblem(409, `${name} is being fetched: wait until it is here.`);
      }
      sets.remove(name, file);
      readings.forget(name, file);
      return context.body(null, 204);
    });
}

function describe({ name, path, isOwn, files }: StoredDataSet): z.infer<typeof dataSetSchema> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return { name, path, isOwn, bytes, files: files.map(({ path, bytes }) => ({ path, bytes })) };
}

/** The columns of a guess have names of one word alone, which are the same as keys. */
function mappingOf(reading: RecordCheck["reading"]): Mapping {
  if ("format" in reading) return { format: reading.format, columns: null };
  const { question, answer, solution, rejected, source } = reading.columns;
  const columns = { question: typeof question === "string" ? question : [...question] };
  return { format: null, columns: { ...columns, answer, solution, rejected, source } };
}

function checked({ rows, isWhole, errors, firstErrors, firstRecords, uses }: RecordCheck) {
  const first = firstRecords.map(({ question, answer, solution, solutionSteps, rejected }) => (
    { question, answer, solution, steps: solutionSteps && [...solutionSteps], rejected }
  ));
  const told = recordUses.map((use) => {
    const { dropped, ...counts } = uses[use];
    return [use, { ...counts, dropped: [...dropped], problem: problemOf(uses[use]) }];
  });
  return {
    ...{ rows, isWhole, errors, firstErrors: [...firstErrors], first },
    uses: Object.fromEntries(told) as Record<RecordUse, z.infer<typeof usable>>,
  };
}

function problemOf(
  { records, validation, test, dropped }: RecordCheck["uses"][RecordUse],
): string | null {
  if (records === 0) {
    return `No row can be used: ${
      dropped.map(({ reason }) => reason).join(", ") || "none is sound"
    }.`;
  }
  const name = "name other files with data.held_out, or add rows";
  if (test === 0) {
    return `None of ${records} questions falls into the tenth that is set aside to be measured: ${name}.`;
  }
  if (test + validation === records) {
    return `All ${records} questions are set aside to be measured: ${name}.`;
  }
  return null;
}
