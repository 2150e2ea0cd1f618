/** An adapter for a visitor's model, trained on a file of theirs: the session of `./tango sft`, its folder in memory. */

import { settlePrecision } from "../../run/tuning/settled_precision.ts";
import { basename } from "pathe";
import { UserError } from "../../base/user_error.ts";
import { columnsToImitate } from "../../data/files/guess_columns.ts";
import { type PlacedRow, placeText } from "../../data/files/row.ts";
import { streamRows } from "../instead/data/files/read_rows.ts";
import { Gpu } from "../../gpu/gpu.ts";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { loadSftConfig } from "../../run/config/load_config.ts";
import type { SftConfig } from "../../run/config/sft_config_schema.ts";
import type { RunControl } from "../../run/control/run_control.ts";
import type { RunEvent } from "../../run/events/run_event.ts";
import { RunEvents } from "../../run/events/run_events.ts";
import { fineTuneWithReport } from "../../run/session/sft_session.ts";
import { archiveOf } from "../files/archive.ts";
import { visitorsFile } from "../files/visitors_file.ts";
import { files } from "../instead/platform/system/files.ts";
import type { ToldOfModel } from "./messages.ts";

const NAME = "tango-adapter";

/** Where the adapter that was trained last lies. */
export const ADAPTER = `/${NAME}`;

/** What a lesson has, which the next one takes the place of. */
const LESSON = "/lesson";
const LEARNED = `${LESSON}/adapter`;

/** What is learned from. */
export interface Lesson {
  /** Path of the model. */
  readonly model: string;
  readonly examples: File;
  readonly updates: number;
}

/**
 * Trains an adapter on a model that nobody else holds on the GPU. The one before stays unless the lesson comes to its
 * end.
 *
 * @param asked of `lessonOf`
 * @param tell told of each update
 * @returns whether it came to its end
 * @throws UserError when an example is malformed, or the GPU has no room for training
 */
export async function teach(
  asked: SftConfig,
  control: RunControl,
  tell: (told: ToldOfModel) => void,
): Promise<boolean> {
  const say = (text: string) => tell({ type: "doing", text });
  const { precision } = await settlePrecision({ ...asked, gpu: "dawn" }, undefined, say);
  const config = { ...asked, precision };
  const { cache_dtype: cacheDtype } = config;
  const gpu = await Gpu.open("dawn", { cacheDtype, precision });
  try {
    tell({ type: "doing", text: "Loading the model and compiling kernels …" });
    const events = new RunEvents();
    using _heard = events.listen((event) => hear(event, tell));
    const isWhole = await fineTuneWithReport(gpu, config, `${LESSON}/run`, {
      resume: false,
      events,
      control,
      tell: (text) => tell({ type: "doing", text }),
    });
    if (!isWhole) return false;
    removeIfPresent(ADAPTER);
    files.renameSync(LEARNED, ADAPTER);
    return true;
  } finally {
    gpu.close();
  }
}

/** The adapter's folder as a tar file. Of its model it says no more than the name: here it lies in memory. */
export function adapterFile(): { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } {
  const copy = `/download/${NAME}`;
  removeIfPresent(copy);
  files.mkdirSync(copy, { recursive: true });
  for (const { path, bytes } of files.filesBelow(ADAPTER)) {
    files.writeFileSync(`${copy}/${path}`, path === PEFT ? withBaseName(bytes) : bytes);
  }
  return { name: `${NAME}.tar`, bytes: archiveOf(files, copy) };
}

const PEFT = "adapter_config.json";

function withBaseName(peft: Uint8Array): Uint8Array {
  const config = JSON.parse(new TextDecoder().decode(peft));
  const base_model_name_or_path = basename(config.base_model_name_or_path);
  const text = JSON.stringify({ ...config, base_model_name_or_path }, null, 2);
  return new TextEncoder().encode(`${text}\n`);
}

/**
 * A lesson's configuration: the settings of `configs/word-problems-generator-sft.yaml`.
 *
 * @throws UserError when the file holds no examples, or its fields do not tell what is asked and answered
 */
export async function lessonOf({ model, examples, updates }: Lesson): Promise<SftConfig> {
  const path = `${LESSON}/${examples.name}`;
  removeIfPresent(LESSON);
  files.mkdirSync(LESSON);
  files.place(path, visitorsFile(examples));
  const rows = streamRows(path);
  const first = await rows.next();
  await rows.return(undefined);
  if (first.done) throw new UserError(`${examples.name} has no examples.`);
  const { question, solution } = columnsOf(first.value);
  const write = (name: string, text: string) => {
    files.writeFileSync(`${LESSON}/${name}`, new TextEncoder().encode(text));
    return `${LESSON}/${name}`;
  };
  const config = {
    policy: "generator",
    initial_model: model,
    lora: { rank: 4, alpha: 32 },
    output_directory: LEARNED,
    data: { train: [{ path, columns: { question, solution } }], validation: null },
    chat: true,
    prompt_template: write("question.txt", "{{ question }}\n"),
    batch_size: 4,
    optimizer: { learning_rate: 0.001, warmup_steps: 3, schedule: "cosine", weight_decay: 0 },
    loss: { micro_batch_tokens: 1024 },
    schedule: { total_training_steps: updates, test_frequency: updates, save_frequency: 0 },
    evaluation: { problems: 32 },
  };
  // YAML can say what JSON says.
  return loadSftConfig(write("config.yaml", JSON.stringify(config)));
}

/** A visitor can name fields, and set nothing. */
function columnsOf({ row, place }: PlacedRow): { question: string[]; solution: string } {
  try {
    const { question, solution } = columnsToImitate(row, place);
    if (solution !== undefined) return { question: [question].flat(), solution };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
  }
  throw new UserError(
    `${placeText(place).slice(LESSON.length + 1)} has ${
      Object.keys(row).join(", ")
    }, which do not tell what is asked and what is to be ` +
      `answered. Name them question and answer.`,
  );
}

function hear(event: RunEvent, tell: (told: ToldOfModel) => void): void {
  switch (event.type) {
    case "started":
      return tell({ type: "lesson", total: event.total });
    case "step":
      return tell({
        type: "learned",
        line: { step: event.step, phase: event.phase, ...event.metrics },
      });
    case "evaluation":
      return tell({
        type: "learned",
        line: { step: event.step, phase: "evaluation", ...event.metrics },
      });
  }
}
