import { basename, join } from "node:path";
import { fileMark, filesMark } from "../../platform/files/file_mark.ts";
import { UserError } from "../../base/user_error.ts";
import { checkedAdapterWeights, openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import { STATE_FILE } from "../../run/store/stored_checkpoint.ts";
import { RequestProblem } from "../http/problem.ts";
import type { RunPolicy, ServedInfo, ServedSource, ServingOptions } from "./messages.ts";
import { type ModelText, readModelText } from "./model_text.ts";
import { ServedModel } from "./served_model.ts";

/** A model by its name: in a process of its own, or an adapter on one that is. */
export interface Served {
  readonly name: string;
  /** Folder or file. */
  readonly path: string;
  readonly model: ServedModel;
  readonly text: ModelText;
  readonly info: ServedInfo;
  /** The folder of the adapter that it is; null: the model as it is. */
  readonly adapter: string | null;
  /** Name of the model that it is an adapter on. */
  readonly parent: string | null;
  /** When it was opened, in seconds since 1970. */
  readonly created: number;
}

/** Policies of runs that are open at a time. */
const MOST_POLICIES = 2;

/** The models that clients can ask for by name, each in a process of its own. */
export class ServedModels implements AsyncDisposable {
  readonly #served = new Map<string, Served>();
  /** Of runs, by name and checkpoint, who was asked for last at the end. */
  readonly #policies = new Map<string, Promise<Served>>();
  /** All that have a process, or will have one. */
  readonly #models = new Set<ServedModel>();
  #isClosed = false;

  /** @param make a model that is in no process yet */
  constructor(
    private readonly options: ServingOptions,
    private readonly make = (source: ServedSource) => new ServedModel(source),
  ) {}

  has(name: string): boolean {
    return this.#served.has(name);
  }

  /** In the order in which they were opened. */
  get all(): readonly Served[] {
    return [...this.#served.values()];
  }

  /**
   * Opens a model.
   *
   * @param path folder or .gguf file
   * @throws UserError when it cannot be opened, or another has the name
   */
  async open(name: string, path: string): Promise<Served> {
    if (this.#served.has(name)) {
      throw new UserError(`Two models are called ${name}: give one another name, NAME=${path}.`);
    }
    const served = await this.#start(name, path, { ...this.options, model: path, run: null });
    this.#served.set(name, served);
    return served;
  }

  /**
   * A policy of a run, or a model on the disk, opened when it is not, or when its files are others than then. It is
   * closed again for others that are asked for later.
   *
   * @param model folder or .gguf file; of a policy what it was made of
   * @param run null: the model as it is
   * @param options how the run computes
   * @throws UserError when it cannot be opened
   * @throws RequestProblem when as many as may be open are sampled from: 503
   */
  async openPolicy(
    name: string,
    model: string,
    run: RunPolicy | null,
    options: Partial<ServingOptions> = {},
  ): Promise<Served> {
    const mark = run ? fileMark(join(run.checkpoint, STATE_FILE)) : filesMark(model);
    const key = `${name}\n${mark}`;
    const known = this.#policies.get(key);
    this.#policies.delete(key);
    const source = { ...this.options, ...options, model, run };
    const opened = known ??
      this.#makeRoom().then(() => this.#start(name, run?.folder ?? model, source));
    this.#policies.set(key, opened);
    try {
      return await opened;
    } catch (error) {
      if (this.#policies.get(key) === opened) this.#policies.delete(key);
      throw error;
    }
  }

  /** Whether a name is that of a model that was opened when it was asked for. */
  isOpen(name: string): boolean {
    return this.#openedAs(name).length > 0;
  }

  /**
   * Closes a model that is to be removed.
   *
   * @param path its folder or file
   * @throws RequestProblem when somebody samples from it, or the server was started with it: 409
   */
  async close(name: string | null, path: string): Promise<void> {
    const served = this.all.find((one) => one.path === path);
    if (served) throw new RequestProblem(409, `It is served as ${served.name}.`);
    for (const key of name === null ? [] : this.#openedAs(name)) {
      const policy = await this.#policies.get(key)?.catch(() => undefined);
      if (policy === undefined) continue;
      if (policy.model.pending > 0) throw new RequestProblem(409, `Somebody asks ${name}.`);
      await this.#end(key, policy.model);
    }
  }

  /** Keys of all that were opened by a name: of files that were written over there may be several. */
  #openedAs(name: string): string[] {
    return [...this.#policies.keys()].filter((key) => key.startsWith(`${name}\n`));
  }

  async #end(key: string, model: ServedModel): Promise<void> {
    this.#policies.delete(key);
    this.#models.delete(model);
    await model[Symbol.asyncDispose]();
  }

  /** @throws RequestProblem when all models are closed: 503 */
  async #start(name: string, path: string, source: ServedSource): Promise<Served> {
    const text = await readModelText(source.model);
    if (this.#isClosed) throw new RequestProblem(503, "The server is ending.");
    const model = this.make(source);
    this.#models.add(model);
    try {
      return {
        ...{ name, path, model, text, info: await model.open(), adapter: null, parent: null },
        created: Math.floor(Date.now() / 1000),
      };
    } catch (error) {
      this.#models.delete(model);
      throw error;
    }
  }

  /** Closes those that were asked for longest ago and that nobody samples from. */
  async #makeRoom(): Promise<void> {
    const open = [...this.#policies];
    for (const [key, opened] of open.slice(0, Math.max(0, open.length - MOST_POLICIES + 1))) {
      // One that could not be opened takes no room.
      const served = await opened.catch(() => null);
      // Who was given it just now asks it first.
      await new Promise((resolve) => setTimeout(resolve));
      if (served === null || this.#policies.get(key) !== opened) continue;
      if (served.model.pending > 0) {
        throw new RequestProblem(
          503,
          `${MOST_POLICIES} models besides those of --model are sampled from already; ask again later.`,
          "model",
          { "retry-after": "5" },
        );
      }
      await this.#end(key, served.model);
    }
  }

  /**
   * Gives an adapter a name. It is loaded when it is asked for.
   *
   * @param folder as PEFT reads it
   * @param parent name of the model that it is an adapter on; null: the only one there is
   * @throws UserError when it is none, or one of another model
   * @throws RequestProblem when another model has the name, or there is no such parent
   */
  addAdapter(name: string, folder: string, parent: string | null): Served {
    if (this.#served.has(name)) {
      throw new RequestProblem(
        409,
        `There is a model ${JSON.stringify(name)} already.`,
        "lora_name",
      );
    }
    const base = this.#baseOf(parent);
    using adapter = openAdapterFolder(folder);
    checkedAdapterWeights(base.text.config, adapter.config, adapter.weights);
    const served: Served = {
      ...base,
      ...{ name, path: folder, adapter: Deno.realPathSync(folder), parent: base.name },
      created: Math.floor(Date.now() / 1000),
    };
    this.#served.set(name, served);
    return served;
  }

  /** Takes an adapter's name away; responses that were asked for come. @throws RequestProblem when it has none */
  removeAdapter(name: string): void {
    const found = this.#served.get(name);
    if (found === undefined || found.adapter === null) {
      throw new RequestProblem(404, `There is no adapter ${JSON.stringify(name)}.`, "lora_name");
    }
    this.#served.delete(name);
    found.model.forget(found.adapter);
  }

  #baseOf(name: string | null): Served {
    if (name !== null) {
      const base = this.find(name);
      if (base.info.adaptable && base.adapter === null) return base;
      throw new RequestProblem(
        400,
        `${name} is an adapter itself; name its base.`,
        "base_model_name",
      );
    }
    const bases = this.all.filter(({ info, adapter }) => info.adaptable && adapter === null);
    if (bases.length === 1) return bases[0];
    const names = bases.map((one) => one.name).join(", ") || "none";
    throw new RequestProblem(
      400,
      `base_model_name: say which model the adapter is on. There is ${names}.`,
      "base_model_name",
    );
  }

  /**
   * The model that a request names; where there is only one, it need not.
   *
   * @throws RequestProblem when there is none of that name
   */
  find(name: string | null | undefined): Served {
    const { all } = this;
    const whole = all.filter(({ adapter }) => adapter === null);
    if (name == null && whole.length === 1) return whole[0];
    const served = name == null ? undefined : this.#served.get(name);
    if (served) return served;
    const names = all.map((one) => one.name).join(", ");
    const there = names === "" ? "none: start the server with --model" : names;
    const asked = name == null ? "No model is named" : `There is no model ${JSON.stringify(name)}`;
    throw new RequestProblem(404, `${asked}. There is ${there}.`, "model");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#models, (model) => model[Symbol.asyncDispose]()));
  }
}

/** `NAME=PATH`, or a path, whose last part is the name. */
export function namedModel(text: string): { readonly name: string; readonly path: string } {
  const at = text.indexOf("=");
  if (at > 0) return { name: text.slice(0, at), path: text.slice(at + 1) };
  return { name: basename(text), path: text };
}
