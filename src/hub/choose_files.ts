/** Which files of a repository are fetched. */

import { matchesGlob } from "node:path";
import { UserError } from "../base/user_error.ts";
import { isDataFileName } from "../data/files/data_paths.ts";
import type { ListedFile, Listing } from "./listing.ts";
import { chooseModelFiles, type ReadText } from "./model_files.ts";

const LISTED_IN_MESSAGE = 20;

/**
 * Chooses the files that match the patterns; without patterns what the engine needs of a model, or the
 * files of a data set that it can read.
 *
 * @throws UserError when there is nothing to fetch or the engine cannot use the model
 */
export async function chooseFiles(
  listing: Listing,
  patterns: readonly string[],
  read: ReadText,
): Promise<ListedFile[]> {
  const { files, repository } = listing;
  if (patterns.length > 0) return matchPatterns(listing, patterns);
  if (repository.kind === "model") return await chooseModelFiles(listing, read);
  const data = files.filter(({ path }) => isDataFileName(path));
  if (data.length === 0) {
    throw new UserError(
      `${repository.id} holds no .parquet, .jsonl, .json, .csv or .tsv file.${describe(files)}`,
    );
  }
  return data;
}

/** Whether a file is meant: a pattern without `/` is compared with its name, in any folder; another one with its path. */
export function matchesPattern(path: string, pattern: string): boolean {
  return path === pattern || matchesGlob(path, pattern.includes("/") ? pattern : `**/${pattern}`);
}

function matchPatterns({ files, repository }: Listing, patterns: readonly string[]): ListedFile[] {
  const chosen = new Set<ListedFile>();
  for (const pattern of patterns) {
    const matching = files.filter(({ path }) => matchesPattern(path, pattern));
    if (matching.length === 0) {
      throw new UserError(
        `--file ${pattern} matches nothing in ${repository.id}.${describe(files)}`,
      );
    }
    for (const file of matching) chosen.add(file);
  }
  return [...chosen];
}

function describe(files: readonly ListedFile[]): string {
  const shown = files.slice(0, LISTED_IN_MESSAGE).map(({ path }) => `\n  ${path}`).join("");
  const more = files.length - LISTED_IN_MESSAGE;
  return files.length === 0
    ? " It is empty."
    : ` It holds:${shown}${more > 0 ? `\n  and ${more} more` : ""}`;
}
