/** Repositories of the Hugging Face Hub: their names and the addresses of what they hold. */

import { UserError } from "../base/user_error.ts";

export type RepositoryKind = "model" | "dataset";

/** A repository of the Hub. */
export interface Repository {
  readonly kind: RepositoryKind;
  /** `owner/name`; a few old ones are a name alone. */
  readonly id: string;
}

/** The form of a repository's name: no part of it is `..`, or begins as an option does. */
export const REPOSITORY_ID =
  /^(?:[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*\/)?[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*$/;

/** Whether a text has the form of a repository's name. */
export function isRepositoryId(id: string): boolean {
  return REPOSITORY_ID.test(id);
}

/**
 * Reads a repository's name as a user writes it.
 *
 * @throws UserError when it is not of the form owner/name
 */
export function parseRepository(id: string, kind: RepositoryKind): Repository {
  if (!isRepositoryId(id)) {
    throw new UserError(
      `"${id}" is not the name of a repository; expected owner/name, as in Qwen/Qwen2.5-0.5B. ` +
        `It stands at the top of the repository's page.`,
    );
  }
  return { kind, id };
}

/** The last part of its name. */
export function shortName({ id }: Repository): string {
  return id.slice(id.indexOf("/") + 1);
}

/** Path of the page that people read. */
export function pagePath({ kind, id }: Repository): string {
  return kind === "dataset" ? `/datasets/${id}` : `/${id}`;
}

/**
 * Path of the list of files. `blobs=true` adds sizes and hashes.
 * https://huggingface.co/docs/hub/api
 */
export function listingPath({ kind, id }: Repository, revision: string): string {
  return `/api/${kind}s/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
}

/** Path of a file's content. */
export function filePath(repository: Repository, commit: string, path: string): string {
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return `${pagePath(repository)}/resolve/${commit}/${encoded}`;
}
