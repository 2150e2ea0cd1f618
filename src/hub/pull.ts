/** Fetches a repository of the Hugging Face Hub into a folder. */

import { join } from "node:path";
import { chooseFiles } from "./choose_files.ts";
import { exists } from "../platform/files/atomic_file.ts";
import { checkRoom, describeDiskError, type Writing } from "../platform/files/disk.ts";
import { removeEmptyFolders } from "./empty_folders.ts";
import { canContinue, downloadFile } from "./download.ts";
import { type FileState, inspectFile } from "./file_state.ts";
import type { HubRepository } from "./hub_repository.ts";
import { checkListedFile, type ListedFile, type Listing, type WantedFile } from "./listing.ts";
import { Manifest } from "./manifest.ts";
import { partSize } from "./part_file.ts";

/** A request to fetch files into a folder. */
export interface PullRequest {
  /** Branch, tag or commit. */
  readonly revision: string;
  /** Globs; none: what the engine needs. */
  readonly patterns: readonly string[];
  readonly folder: string;
  /** Stops it; what has arrived stays, and the next call goes on. */
  readonly signal: AbortSignal;
}

/** Hears how it goes. */
export interface PullListener {
  /** Called before anything is written. */
  onPlan(plan: PullPlan): void;
  /** See `Download.onProgress`. */
  onProgress(file: WantedFile, arrived: number): void;
}

/** The files that a request will fetch. */
export interface PullPlan {
  readonly commit: string;
  readonly files: readonly WantedFile[];
  /** Files among `files` that are not in the folder yet. */
  readonly missing: readonly WantedFile[];
}

/**
 * Fetches what is missing in the folder. When it fails, complete files and begun ones stay, and nothing
 * else is changed.
 *
 * @throws UserError when something cannot be fetched, checked or written
 */
export async function pull(
  hub: HubRepository,
  request: PullRequest,
  listener: PullListener,
): Promise<PullPlan> {
  const { revision, folder, signal } = request;
  const isNew = !exists(folder);
  try {
    const listing = await hub.list(revision);
    const manifest = Manifest.open(folder, hub.repository);
    const plan = await makePlan(hub, listing, manifest, request);
    listener.onPlan(plan);
    for (const file of plan.missing) {
      await downloadFile(file, {
        hub,
        commit: plan.commit,
        folder,
        manifest,
        signal,
        onProgress: (file, arrived) => listener.onProgress(file, arrived),
      });
    }
    manifest.keep();
    return plan;
  } catch (error) {
    if (isNew) removeEmptyFolders(folder);
    throw describeDiskError(error, into(folder));
  }
}

const into = (folder: string, bytes?: number): Writing => ({
  path: folder,
  bytes,
  next: "run the command again, which goes on where it stopped, or name another folder with --to",
});

async function makePlan(
  hub: HubRepository,
  listing: Listing,
  manifest: Manifest,
  { revision, patterns, folder, signal }: PullRequest,
): Promise<PullPlan> {
  const { commit, repository } = listing;
  const states = new Map<string, FileState>();
  const inspect = async (file: WantedFile) => {
    const state = states.get(file.path) ?? await inspectFile(folder, file, manifest, signal);
    states.set(file.path, state);
    return state;
  };
  const read = async (listed: ListedFile) => {
    const file = checkListedFile(listed, repository);
    return (await inspect(file)).startsWith("complete")
      ? Deno.readTextFileSync(join(folder, file.path))
      : await hub.readText(commit, file);
  };
  const files = (await chooseFiles(listing, patterns, read))
    .map((file) => checkListedFile(file, repository));
  const missing: WantedFile[] = [];
  const unrecorded: WantedFile[] = [];
  for (const file of files) {
    const state = await inspect(file);
    if (state === "complete, not recorded") unrecorded.push(file);
    else if (state !== "complete") missing.push(file);
  }
  checkRoom(into(folder, sumOf(missing, (file) => remainingBytes(folder, file, manifest))));
  manifest.beginCommit(revision, commit);
  for (const file of unrecorded) manifest.keepFile(file);
  return { commit, files, missing };
}

function remainingBytes(folder: string, file: WantedFile, manifest: Manifest): number {
  const arrived = canContinue(file, manifest) ? partSize(join(folder, file.path)) : 0;
  return Math.max(0, file.size - arrived);
}

/** Adds up a number of each file. */
export function sumOf(
  files: readonly WantedFile[],
  count: (file: WantedFile) => number = ({ size }) => size,
): number {
  return files.reduce((sum, file) => sum + count(file), 0);
}
