import { basename, join } from "node:path";
import type { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { filesMark } from "../../platform/files/file_mark.ts";
import { UserError } from "../../base/user_error.ts";
import { openAdapterFolder } from "../../model/weights/adapter_folder.ts";
import { zerosOf } from "../../model/weights/peft_experts.ts";
import { openGguf } from "../../model/weights/gguf_file.ts";
import { openSafetensorsWeights } from "../../model/weights/safetensors_weights.ts";
import type { WeightFile } from "../../model/weights/weight_file.ts";
import { listCheckpoints } from "../../run/store/checkpoint.ts";
import { filesIn } from "../runs/folder_files.ts";
import type { ListedRun, RunList } from "../runs/run_list.ts";
import { findModels, type FoundModel, type UnreadFolder } from "./found_models.ts";
import type { modelSchema } from "./model_schemas.ts";

/** A model, an adapter, or what a checkpoint of a run has of a policy. */
export type CataloguedModel = Omit<z.infer<typeof modelSchema>, "served" | "isOwn">;

/** What its files say of a model. */
type Described = Pick<CataloguedModel, "parameters" | "base" | "hasChat" | "problem">;

/** All models that are on the disk. What was read of one is kept as long as its files stay as they are. */
export class ModelCatalog {
  readonly #described = new Map<
    string,
    { readonly mark: string | null; readonly described: Described }
  >();

  /** @param folders that are looked in */
  constructor(private readonly folders: readonly string[], private readonly list: RunList) {}

  /** Models and adapters by path, then checkpoints by run and step, and what could not be looked into. */
  async all(): Promise<{ models: CataloguedModel[]; unread: UnreadFolder[] }> {
    const { models: found, unread } = findModels(this.folders);
    const models = await Promise.all(found.map((one) => this.#model(one)));
    return { models: [...models, ...this.list.all.flatMap(checkpointsOf)], unread };
  }

  /** The one of a name or path; null when there is none. */
  async find(name: string): Promise<CataloguedModel | null> {
    const { models } = await this.all();
    return models.find((one) => one.name === name || one.path === name) ?? null;
  }

  async #model({ path, kind, bytes }: FoundModel): Promise<CataloguedModel> {
    const files = kind === "gguf"
      ? [{ path: basename(path), bytes }]
      : filesIn(path).filter((file) => !file.path.includes("/") && !file.path.startsWith("."));
    const inRun = this.list.all.find(({ folder }) => path.startsWith(`${folder.path}/`)) ?? null;
    const policy = /^(generator|verifier)$/.exec(basename(path))?.[0] ?? null;
    return {
      ...{ name: path, path, kind, bytes, files, step: null },
      ...{ run: inRun?.name ?? null, policy: inRun && policy },
      ...await this.#describe(path, kind),
    };
  }

  async #describe(path: string, kind: FoundModel["kind"]): Promise<Described> {
    const mark = filesMark(path);
    const known = this.#described.get(path);
    if (known?.mark === mark) return known.described;
    const described = await describeModel(path, kind);
    this.#described.set(path, { mark, described });
    return described;
  }
}

async function describeModel(path: string, kind: FoundModel["kind"]): Promise<Described> {
  try {
    if (kind === "gguf") {
      using file = await openGguf(path);
      const hasChat = typeof file.metadata["tokenizer.chat_template"] === "string";
      return { parameters: countOf(file), base: null, hasChat, problem: null };
    }
    if (kind === "model") {
      using weights = openSafetensorsWeights(path);
      return {
        parameters: countOf(weights),
        base: null,
        hasChat: hasTemplate(path),
        problem: null,
      };
    }
    using adapter = openAdapterFolder(path);
    const { basePath: base, weights } = adapter;
    const isThere = exists(base);
    const zeros = weights.tensors.entries().reduce(
      (sum, [name, { shape }]) => sum + zerosOf(adapter.config, name, shape),
      0,
    );
    return {
      ...{
        parameters: countOf(weights) - zeros,
        base,
        hasChat: isThere ? hasTemplate(base) : null,
      },
      problem: isThere ? null : `Its base ${base} is not there.`,
    };
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { parameters: null, base: null, hasChat: null, problem: error.message };
  }
}

const countOf = ({ tensors }: WeightFile): number =>
  tensors.values().reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);

/** Null where its settings cannot be read. */
function hasTemplate(folder: string): boolean | null {
  if (exists(join(folder, "chat_template.jinja"))) return true;
  try {
    const settings = JSON.parse(Deno.readTextFileSync(join(folder, "tokenizer_config.json")));
    return Object.hasOwn(settings, "chat_template");
  } catch {
    return null;
  }
}

function checkpointsOf({ name, kind, folder }: ListedRun): CataloguedModel[] {
  return listCheckpoints(folder.checkpoints).flatMap(({ step, path }) => {
    const files = filesIn(path);
    return files.flatMap((file): CataloguedModel[] => {
      const policy = /^(generator|verifier)\.safetensors$/.exec(file.path)?.[1];
      if (policy === undefined) return [];
      return [{
        ...{ kind: "checkpoint", path, run: name, step, policy, files, bytes: file.bytes },
        name: kind === "train" ? `${name}/${policy}@${step}` : null,
        ...{ parameters: null, base: null, hasChat: null, problem: null },
      }];
    });
  });
}
