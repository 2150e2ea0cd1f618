/** `deno task generate --config`: a teacher solves the problems of a data set, for others to be fine-tuned on. */

import { settlePrecision } from "../run/tuning/settled_precision.ts";
import { dirname } from "node:path";
import { formatDuration } from "../base/duration.ts";
import { UserError } from "../base/user_error.ts";
import type { DataRecord } from "../data/files/record.ts";
import { AnswerJudge } from "../grading/answer_judge.ts";
import { loadModelFolder } from "../model/weights/model_folder.ts";
import { openModelSource } from "../model/weights/model_source.ts";
import { type GeneratorTemplate, generatorTemplate } from "../rl/prompt_template.ts";
import { frozenStorage } from "../run/config/frozen_storage.ts";
import { loadTeacherConfig } from "../run/config/load_config.ts";
import type { TeacherConfig } from "../run/config/teacher_schema.ts";
import { checkMemory } from "../run/memory/memory_check.ts";
import { planSamplingMemory } from "../run/memory/sampling_memory_plan.ts";
import { halve, type Shrink } from "../run/memory/shrink.ts";
import { loadDataSet } from "../run/problems/data_set.ts";
import { recordSource } from "../run/problems/file_problems.ts";
import { digestOfModel } from "../run/record/inputs.ts";
import { promptOf } from "../run/tango/policies.ts";
import { AnswersLog } from "../run/answers/answers_log.ts";
import { askedDigest } from "../run/teacher/asked_digest.ts";
import { LocalTeacher } from "../run/teacher/local_teacher.ts";
import { RemoteTeacher } from "../run/teacher/remote_teacher.ts";
import { type Taught, teach, type Teacher } from "../run/teacher/teach.ts";
import { gpuOf, withGpu } from "./with_gpu.ts";

/** What the command line says. */
export interface GenerateDataOptions {
  readonly config: string;
  readonly set?: readonly string[];
  readonly seed?: number;
  readonly gpu?: string;
  readonly gpuIndex?: number;
}

/** Solves what is left of a data set, and writes what is kept. */
export async function generateData({ gpuIndex, ...options }: GenerateDataOptions): Promise<void> {
  const loaded = loadTeacherConfig(options.config, options);
  // A server is asked for what it has.
  const config = loaded.server !== null
    ? loaded
    : await settlePrecision(loaded, gpuIndex, console.log);
  const template = generatorTemplate(config.prompt_template);
  const { server } = config;
  const key = server === null ? null : apiKey(server);
  const set = await loadDataSet(config.data, {
    requireAnswer: config.keep === "right",
    validation: false,
  });
  console.log(set.report);
  const records = (await fitting(config, template, set.train)).slice(
    0,
    config.problems ?? undefined,
  );
  const path = `${config.output.replace(/\.jsonl$/, "")}.answers.jsonl`;
  Deno.mkdirSync(dirname(config.output), { recursive: true });
  const weights = config.model === null ? "" : await digestOfModel(config.model, true);
  const questions = records.map(({ question }) => question);
  const prompt = template.render({ question: "" });
  using log = new AnswersLog(path, askedDigest(config, weights, prompt, questions));
  using judge = closing(new AnswerJudge());
  const source = recordSource(judge.judge, records);
  const began = performance.now(), before = log.answers.length;
  const tell = (taught: Taught) => {
    const seconds = (performance.now() - began) / 1000;
    const left = (records.length - taught.problems) * seconds / (taught.problems - before);
    console.log(`${progress(taught, records.length)} · ${formatDuration(left)} left`);
  };
  const run = (teacher: Teacher | null) => teach(teacher, source, records, log, config, tell);
  const taught = before === records.length
    ? await run(null)
    : server !== null
    ? await run(new RemoteTeacher(server, config, template, key))
    : await onGpu(config, gpuIndex, template, questions, run);
  console.log(
    `${progress(taught, records.length)}\n${taught.rows.length} solutions: ${config.output}`,
  );
}

function progress({ problems, counts }: Taught, all: number): string {
  const { answers, finished, formatted, right } = counts;
  return `problems ${problems}/${all} · solutions ${answers}, ended ${finished}, in the format ${formatted}, right ${right}`;
}

/** @throws UserError when there is none */
function apiKey({ key_variable }: NonNullable<TeacherConfig["server"]>): string | null {
  if (key_variable === null) return null;
  const key = Deno.env.get(key_variable);
  if (key !== undefined) return key;
  throw new UserError(
    `server.key_variable: there is no environment variable ${key_variable}. Set it to the API key, or leave it out.`,
  );
}

function closing(judge: AnswerJudge) {
  return { judge, [Symbol.dispose]: () => judge.close() };
}

/** The problems whose prompts are not too long, and leave room for the longest solution. */
async function fitting(
  { model, chat, system_prompt, max_response_length, data: { maximum_prompt_tokens } }:
    TeacherConfig,
  template: GeneratorTemplate,
  records: readonly DataRecord[],
): Promise<readonly DataRecord[]> {
  // What a server's model takes, it says itself.
  if (model === null) return records;
  using source = await openModelSource(model);
  const tokenizer = source.tokenizer();
  const { prompt } = promptOf({ model, chat, system_prompt }, template, tokenizer);
  const most = Math.min(maximum_prompt_tokens, source.config.maxPositions - max_response_length);
  const fits = records.filter(({ question }) =>
    tokenizer.encode(prompt.render({ question })).length <= most
  );
  if (fits.length === 0) {
    throw new UserError(
      `data: none of the ${records.length} problems has a prompt of at most ${most} tokens, which data.maximum_prompt_tokens ` +
        "and the model's positions leave beside max_response_length.",
    );
  }
  if (fits.length < records.length) {
    console.log(
      `${records.length - fits.length} problems have prompts of more than ${most} tokens`,
    );
  }
  return fits;
}

const fewerSlots: Shrink<TeacherConfig> = halve(
  "decode_slots",
  1,
  ({ decode_slots }) => decode_slots,
  (config, decode_slots) => ({ ...config, decode_slots }),
);

const fewerTokens: Shrink<TeacherConfig> = halve(
  "max_response_length",
  16,
  ({ max_response_length }) => max_response_length,
  (config, max_response_length) => ({ ...config, max_response_length }),
);

async function onGpu(
  config: TeacherConfig,
  gpuIndex: number | undefined,
  template: GeneratorTemplate,
  questions: readonly string[],
  body: (teacher: Teacher) => Promise<Taught>,
): Promise<Taught> {
  const { model } = config;
  if (model === null) throw new Error("a teacher without a model");
  const storage = { model, frozenDtype: config.frozen_dtype };
  // The longest say what memory is needed.
  const longest = [...questions].sort((a, b) => b.length - a.length);
  return await withGpu(gpuOf(config, gpuIndex), async (gpu) => {
    await checkMemory(gpu, {
      config,
      limit: config.memory_limit_gb,
      plan: (changed) =>
        planSamplingMemory(gpu, storage, async (loaded) => {
          using teacher = new LocalTeacher(loaded, model, changed, template);
          await teacher.solve(longest.slice(0, changed.batch_size), 0, () => {});
        }),
      shrinks: [fewerSlots, fewerTokens],
    });
    const loaded = await loadModelFolder(gpu, model, {
      trained: false,
      storage: frozenStorage(config.frozen_dtype),
    });
    try {
      using teacher = new LocalTeacher(loaded, model, config, template);
      return await body(teacher);
    } finally {
      loaded.model.release();
    }
  });
}
