import { basename, join } from "node:path";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { dataDefaults, dataEntry } from "../config/data_schema.ts";
import {
  type PublishedShape,
  publishedShapes,
  writeHollowGguf,
  writeHollowModel,
} from "./hollow_model.ts";

/** Lengths of prompts that are said instead of measured, in tokens. */
export interface SaidPrompts {
  /** Tokens of the generator's prompt. */
  readonly problem?: number;
  /** Tokens of the verifier's prompt, but for the solution. */
  readonly judgment?: number;
}

/**
 * Runs `body` with a configuration whose files are all there: for models and data that are not, files of the same
 * shape stand in, models without weights and problems of the length that is said.
 *
 * @throws UserError when a model is not there and no published shape has its name, or a length is not said
 */
export async function withStandIns<Result>(
  config: TangoConfig,
  said: SaidPrompts,
  body: (config: TangoConfig) => Promise<Result>,
): Promise<Result> {
  const { generator, verifier, data } = config;
  const models = [generator.model, ...(verifier ? [verifier.model] : [])];
  const isMissing = models.some((model) => !exists(model) || model.endsWith(".json"));
  const files = data === null ? [] : [...data.train, ...data.held_out].map(({ path }) => path);
  const missingFile = files.find((path) => !exists(path));
  if (!isMissing && missingFile === undefined && said.problem === undefined) {
    return await body(config);
  }
  const folder = Deno.makeTempDirSync({ prefix: "tango-plan-" });
  try {
    return await body(await standIn(folder, config, said, missingFile));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

/** Stand-in problems: as many as are sampled at a time, so that a plan takes the memory of as many. */
const standInProblems = 512;

async function standIn(
  folder: string,
  config: TangoConfig,
  { problem, judgment }: SaidPrompts,
  missingFile: string | undefined,
): Promise<TangoConfig> {
  const { generator, verifier } = config;
  if (problem === undefined || (verifier !== null && judgment === undefined)) {
    const what = missingFile ? `${missingFile} is not there` : "The models are not there";
    throw new UserError(
      `${what}, so that the lengths of prompts cannot be measured. Say them with --problem-tokens` +
        `${
          verifier
            ? " and --judgment-tokens (what the verifier is asked, but for the solution)"
            : ""
        }.`,
    );
  }
  if (config.evaluation.problems === null) {
    throw new UserError(
      "evaluation.problems is null, all that the files hold, and they are not there. Say how many with --set " +
        "evaluation.problems=500, for example.",
    );
  }
  const model = async (path: string): Promise<string> => {
    const place = join(folder, basename(path));
    if (exists(place)) return place;
    if (path.endsWith(".gguf")) await writeHollowGguf(place, shapeOf(path));
    else writeHollowModel(place, shapeOf(path));
    return place;
  };
  // Characters are tokens to a model without weights.
  const template = (name: string, text: string): string => {
    const path = join(folder, name);
    Deno.writeTextFileSync(path, text);
    return path;
  };
  if (verifier && judgment !== undefined && judgment < problem) {
    throw new UserError(
      `--judgment-tokens ${judgment}: the verifier is asked about the problem too, which has ` +
        `${problem} tokens; expected no fewer.`,
    );
  }
  const problems = join(folder, "problems.jsonl");
  const rows = Array.from({ length: standInProblems }, (_, n) => ({
    question: String(n).padEnd(problem, "x").slice(0, problem),
    answer: "1",
  }));
  Deno.writeTextFileSync(problems, rows.map((row) => JSON.stringify(row)).join("\n"));
  return {
    ...config,
    data: {
      ...dataDefaults,
      train: [dataEntry(problems, null)],
      maximum_prompt_tokens: Number.MAX_SAFE_INTEGER,
    },
    generator: {
      ...generator,
      model: await model(generator.model),
      chat: false,
      system_prompt: null,
      prompt_template: template("generator.txt", "{{ question }}"),
    },
    verifier: verifier && {
      ...verifier,
      model: await model(verifier.model),
      chat: false,
      system_prompt: null,
      prompt_template: template(
        "verifier.txt",
        `{{ question }}${
          "x".repeat(Math.max(0, (judgment ?? 0) - problem - 1))
        }{{ steps }}{{ solution }}`,
      ),
    },
  };
}

/** The shape of a model that is not there: its config.json where that is named, else a published one. */
function shapeOf(path: string): PublishedShape {
  if (exists(join(path, "config.json"))) return readShape(join(path, "config.json"));
  if (path.endsWith(".json") && exists(path)) return readShape(path);
  const shapes = publishedShapes();
  // What ends a GGUF file's name says how weights are stored.
  const name = basename(path).replace(/([-.](Q\d\w*|[BF]\w*16|F32))?\.gguf$/i, "")
    .replace(/-(Instruct|it)$/, "");
  const shape = shapes[name];
  if (shape) return shape;
  throw new UserError(
    `There is no model ${path}. To plan without it, name a config.json, or a model whose shape is known: ` +
      `${Object.keys(shapes).join(", ")}; such as --set generator.model=Qwen2.5-7B.`,
  );
}

function readShape(file: string): PublishedShape {
  try {
    return JSON.parse(Deno.readTextFileSync(file));
  } catch (error) {
    throw new UserError(`${file} cannot be read: ${(error as Error).message}`);
  }
}
