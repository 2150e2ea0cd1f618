/** A conversation with a model of the visitor's, as `./tango chat` has it. */

import { UserError } from "../../base/user_error.ts";
import { removeIfPresent } from "../../platform/files/atomic_file.ts";
import { Conversation } from "../../engine/conversation.ts";
import { Gpu } from "../../gpu/gpu.ts";
import { ChatTemplate } from "../../model/tokenizer/chat_template.ts";
import { type LoadedModel, loadModelFolder } from "../../model/weights/model_folder.ts";
import { streams } from "../../random/philox.ts";
import { RunControl } from "../../run/control/run_control.ts";
import { checkMemory } from "../../run/memory/memory_check.ts";
import { planSamplingMemory } from "../../run/memory/sampling_memory_plan.ts";
import { visitorsFile } from "../files/visitors_file.ts";
import { files } from "../instead/platform/system/files.ts";
import type { ToldOfModel } from "./messages.ts";
import { ADAPTER, adapterFile, lessonOf, teach } from "./teaching.ts";

/** Where the visitor's files lie. */
const FOLDER = "/model";

/** Tokens that a conversation may have, and a reply. */
const CONTEXT = 4096;
const MAXIMUM_REPLY = 512;

/** One model at a time, and what was said to it. */
export class Talking {
  #opened: { gpu: Gpu; loaded: LoadedModel; conversation: Conversation } | null = null;
  /** Path of the model that the visitor chose. */
  #chosen: string | null = null;
  /** The file that its adapter was trained on; null for none. */
  #taughtBy: string | null = null;
  #lesson = new RunControl();

  /** @param tell told what happens */
  constructor(private readonly tell: (told: ToldOfModel) => void) {}

  /**
   * Opens a model from files; the one before is closed.
   *
   * @throws UserError when they are no model, or more than the GPU can hold
   */
  async open(chosen: readonly File[]): Promise<void> {
    this.#close();
    this.#taughtBy = null;
    this.#chosen = placed(chosen);
    await this.#open(this.#chosen, false);
  }

  /** @param learned whether a lesson has come to its end */
  async #open(chosen: string, learned: boolean): Promise<void> {
    const taughtBy = this.#taughtBy;
    const path = taughtBy === null ? chosen : ADAPTER;
    const gpu = await Gpu.open("dawn");
    try {
      const { peakBytes: bytes } = await checkMemory(gpu, {
        config: { model: path },
        limit: null,
        plan: (asked) =>
          planSamplingMemory(gpu, asked, async (loaded) => {
            const conversation = conversationWith(loaded, path);
            await conversation.rehearse();
            conversation.close();
          }),
        // A visitor has no settings.
        shrinks: [],
      });
      const loaded = await loadModelFolder(gpu, path, { trained: false });
      this.#opened = { gpu, loaded, conversation: conversationWith(loaded, path) };
      const { model: parameters } = loaded.model.parameterCount;
      const name = chosen === FOLDER ? "your model" : chosen.slice(FOLDER.length + 1);
      this.tell({ type: "opened", name, parameters, bytes, taughtBy, learned, device: gpu.info });
    } catch (error) {
      gpu.close();
      throw error;
    }
  }

  /**
   * Trains an adapter on examples and goes on with the model that has it, or, when the lesson fails or is ended, with
   * the model as it was.
   *
   * @throws UserError when there are no examples in the file, by which nothing has changed, or the GPU has no room for
   *   training
   */
  async teach(
    { examples, updates }: { readonly examples: File; readonly updates: number },
  ): Promise<void> {
    const model = this.#chosen;
    if (model === null || this.#opened === null) throw new UserError("Choose a model first.");
    const config = await lessonOf({ model, examples, updates });
    this.#close();
    this.#lesson = new RunControl();
    let learned = false;
    let failure: unknown = null;
    try {
      learned = await teach(config, this.#lesson, this.tell);
      if (learned) this.#taughtBy = examples.name;
    } catch (error) {
      failure = error;
    }
    // Where a GPU fails twice the first reason is told.
    await this.#open(model, learned).catch((error) => {
      throw failure ?? error;
    });
    if (failure !== null) throw failure;
  }

  /** Ends the lesson after its present update. */
  endLesson(): void {
    this.#lesson.stop();
  }

  /** @throws UserError when no adapter was trained */
  adapterFile(): { readonly name: string; readonly bytes: Uint8Array<ArrayBuffer> } {
    if (this.#taughtBy === null) throw new UserError("No adapter was trained.");
    return adapterFile();
  }

  /** @throws UserError when the conversation has become too long */
  async say(text: string): Promise<void> {
    if (this.#opened === null) throw new UserError("Choose a model first.");
    const began = performance.now();
    const { tokens, finished } = await this.#opened.conversation.say(
      text,
      (piece) => this.tell({ type: "piece", text: piece }),
    );
    const seconds = (performance.now() - began) / 1000;
    this.tell({ type: "said", tokens, seconds, finished });
  }

  /** Forgets what was said. */
  clear(): void {
    this.#opened?.conversation.clear();
  }

  #close(): void {
    if (this.#opened === null) return;
    const { gpu, loaded, conversation } = this.#opened;
    this.#opened = null;
    conversation.close();
    loaded.model.release();
    gpu.close();
  }
}

function conversationWith(loaded: LoadedModel, model: string): Conversation {
  return new Conversation(loaded, new ChatTemplate(loaded.tokenizer, model), null, {
    sampling: {
      temperature: 0,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: 0,
      stream: streams.evaluation,
    },
    choice: null,
    maximumReply: MAXIMUM_REPLY,
    context: CONTEXT,
  });
}

/** Puts the visitor's files in the place of those before. @returns the path of the model */
function placed(chosen: readonly File[]): string {
  const ggufs = chosen.filter(({ name }) => name.endsWith(".gguf"));
  if (ggufs.length === 0 && !chosen.some(({ name }) => name === "config.json")) {
    throw new UserError(
      "Expected a .gguf file, or the files of a Hugging Face folder together: config.json, tokenizer.json, " +
        `tokenizer_config.json and .safetensors. Found ${
          chosen.map(({ name }) => name).join(", ")
        }.`,
    );
  }
  if (ggufs.length > 1) throw new UserError("Choose one .gguf file.");
  removeIfPresent(FOLDER);
  files.mkdirSync(FOLDER);
  for (const file of chosen) files.place(`${FOLDER}/${file.name}`, visitorsFile(file));
  return ggufs.length === 1 ? `${FOLDER}/${ggufs[0].name}` : FOLDER;
}
