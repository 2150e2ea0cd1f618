import { join, resolve } from "node:path";
import { z } from "zod";
import { exists, removeIfPresent, writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { describeDiskError } from "../../platform/files/disk.ts";
import { UserError } from "../../base/user_error.ts";
import { isAdapterFolder } from "../../model/weights/adapter_folder.ts";
import { isComplete } from "../../run/store/stored_checkpoint.ts";

/** The two kinds, as addresses and folders have them. */
export const KINDS = ["weights", "sampler_weights"] as const;
/** With the optimizer's state to go on from, or the adapter alone. */
export type Kind = typeof KINDS[number];

const RUN_FILE = "run.json";
/** A name that is no path. */
const NAME = /^\w(?:[\w.-]{0,199}(?<!\.tmp))?$/;
const MODEL_ID = /^([\w-]{1,100}):train:(\d{1,10})$/;

const runSchema = z.object({
  base_model: z.string(),
  lora_rank: z.int(),
  created: z.string(),
  user_metadata: z.record(z.string(), z.string()).nullable(),
});
/** What is kept of a client's model. */
export type TinkerRun = z.infer<typeof runSchema>;

/** A saved adapter. */
export interface SavedAdapter {
  readonly modelId: string;
  readonly kind: Kind;
  readonly name: string;
  readonly folder: string;
}

/**
 * What clients have saved, in folders: `SESSION/train-N/weights/NAME` and `…/sampler_weights/NAME`, each an adapter as
 * PEFT reads it.
 */
export class Checkpoints {
  readonly #root: string;

  constructor(root: string) {
    this.#root = resolve(root);
  }

  /**
   * Keeps what is to be known of a model, before anything of it is saved.
   *
   * @throws UserError when the disk does not take it
   */
  begin(modelId: string, facts: TinkerRun): void {
    const folder = this.#folderOf(modelId);
    const path = join(folder, RUN_FILE);
    const next = "ask for the model again";
    try {
      Deno.mkdirSync(folder, { recursive: true });
      writeFileAtomically(path, `${JSON.stringify(facts, null, 1)}\n`, next);
    } catch (error) {
      throw describeDiskError(error, { path, next });
    }
  }

  /** @throws UserError when the name is none */
  place(modelId: string, kind: Kind, name: string): SavedAdapter {
    if (!NAME.test(name)) {
      throw new UserError(
        `path: ${JSON.stringify(name)} is no name; take letters, digits, ".", "_" and "-".`,
      );
    }
    return { modelId, kind, name, folder: join(this.#folderOf(modelId), kind, name) };
  }

  /** @throws UserError when the address is none, or nothing was saved there */
  find(address: string): SavedAdapter {
    const [, modelId = "", kind = "", name = ""] =
      /^tinker:\/\/([^/]+)\/([^/]+)\/([^/]+)$/.exec(address) ?? [];
    if (!MODEL_ID.test(modelId) || !isKind(kind) || !NAME.test(name)) {
      throw new UserError(
        `${JSON.stringify(address)} is no saved model; expected tinker://MODEL/weights/NAME or ` +
          `tinker://MODEL/sampler_weights/NAME.`,
      );
    }
    const saved = this.place(modelId, kind, name);
    if (isAdapterFolder(saved.folder)) return saved;
    throw new UserError(`${address} is not there; it was never saved, or was removed.`);
  }

  /** Null when nobody knows the model. */
  factsOf(modelId: string): TinkerRun | null {
    if (!MODEL_ID.test(modelId)) return null;
    const file = join(this.#folderOf(modelId), RUN_FILE);
    if (!exists(file)) return null;
    const { data } = runSchema.safeParse(JSON.parse(Deno.readTextFileSync(file)));
    return data ?? null;
  }

  /** Ids of all models, newest first. */
  models(): string[] {
    if (!exists(this.#root)) return [];
    const found = [...Deno.readDirSync(this.#root)].flatMap(({ name: session }) =>
      namesIn(join(this.#root, session)).flatMap((folder) => {
        const id = `${session}:train:${folder.replace(/^train-/, "")}`;
        const facts = this.factsOf(id);
        return facts ? [{ id, created: facts.created }] : [];
      })
    );
    return found.sort((a, b) => a.created < b.created ? 1 : -1).map(({ id }) => id);
  }

  /** All that was saved of a model, oldest first. */
  saved(modelId: string): (SavedAdapter & { readonly time: Date; readonly bytes: number })[] {
    if (!MODEL_ID.test(modelId)) return [];
    return KINDS.flatMap((kind) =>
      namesIn(join(this.#folderOf(modelId), kind)).filter((name) => NAME.test(name)).map((name) => {
        const saved = this.place(modelId, kind, name);
        const { mtime } = Deno.statSync(saved.folder);
        return { ...saved, time: mtime ?? new Date(0), bytes: bytesIn(saved.folder) };
      })
    ).filter(({ folder, kind }) =>
      kind === "weights" ? isComplete(folder) : isAdapterFolder(folder)
    ).sort((a, b) => a.time.getTime() - b.time.getTime());
  }

  remove({ folder }: SavedAdapter): void {
    removeIfPresent(folder);
  }

  #folderOf(modelId: string): string {
    const [, session, number] = MODEL_ID.exec(modelId) ?? [];
    if (session === undefined) throw new UserError(`${JSON.stringify(modelId)} is no model.`);
    return join(this.#root, session, `train-${number}`);
  }
}

/** The address that a client knows it by. */
export const checkpointAddress = ({ modelId, kind, name }: SavedAdapter): string =>
  `tinker://${modelId}/${kind}/${name}`;

const isKind = (text: string): text is Kind => (KINDS as readonly string[]).includes(text);

/** Folders in a folder; a half-written one is none. */
function namesIn(folder: string): string[] {
  if (!exists(folder) || !Deno.statSync(folder).isDirectory) return [];
  return [...Deno.readDirSync(folder)]
    .filter(({ name, isDirectory }) => isDirectory && !name.endsWith(".tmp"))
    .map(({ name }) => name);
}

const bytesIn = (folder: string): number =>
  [...Deno.readDirSync(folder)].reduce(
    (sum, { name, isFile }) => sum + (isFile ? Deno.statSync(join(folder, name)).size : 0),
    0,
  );
