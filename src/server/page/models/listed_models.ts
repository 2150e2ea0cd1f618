/** Models as the page lists them. */

import type { ModelList } from "../../models/model_schemas.ts";

export type ListedModel = ModelList["models"][number];

/** What GET /v1/models tells of a model. */
export interface ServedModel {
  readonly id: string;
  /** Its folder or file. */
  readonly root: string;
  readonly parent: string | null;
}

/** By which it is asked; null where it cannot be. */
export function askedName({ name, served, problem }: ListedModel): string | null {
  return problem === null ? served ?? name : null;
}

/** What tells it from all others. */
export function titleOf({ name, path, policy, kind }: ListedModel): string {
  return name ?? (kind === "checkpoint" ? `${path}, ${policy}` : path);
}

/** Those on the disk, and those that the server was started with and that lie elsewhere. */
export function withServed(
  models: readonly ListedModel[],
  served: readonly ServedModel[],
): ListedModel[] {
  const elsewhere = served.filter(({ id, root }) =>
    !models.some((model) => model.path === root || model.served === id)
  );
  return [
    ...elsewhere.map(({ id, root, parent }): ListedModel => ({
      ...{ name: id, path: root, served: id, base: parent, bytes: NaN, files: [], isOwn: false },
      kind: parent !== null ? "adapter" : root.endsWith(".gguf") ? "gguf" : "model",
      ...{ parameters: null, hasChat: null, run: null, step: null, policy: null, problem: null },
    })),
    ...models,
  ];
}

/** Those of a kind ("" for all) that have all the words. */
export function wantedModels(
  models: readonly ListedModel[],
  kind: string,
  words: string,
): ListedModel[] {
  const sought = words.toLowerCase().split(/\s+/);
  return models.filter((model) => {
    const { path, run, base, served } = model;
    const parts = [titleOf(model), path, model.kind, run, base, served];
    const text = parts.filter((part) => part !== null).join(" ").toLowerCase();
    return (kind === "" || model.kind === kind) && sought.every((word) => text.includes(word));
  });
}
