import { join } from "node:path";
import { UserError } from "../base/user_error.ts";
import { isSameChecksum } from "./checksum.ts";
import type { HubResponse } from "./hub_client.ts";
import type { HubRepository } from "./hub_repository.ts";
import type { WantedFile } from "./listing.ts";
import type { Manifest } from "./manifest.ts";
import { PartFile } from "./part_file.ts";
import { TemporaryFailure, withRetries } from "./retry.ts";

/** A file to download: where it goes, and who hears of it. */
export interface Download {
  readonly hub: HubRepository;
  readonly commit: string;
  readonly folder: string;
  readonly manifest: Manifest;
  readonly signal: AbortSignal;
  /** Hears how many bytes of the file are there; fewer than before when it begins anew. */
  onProgress(file: WantedFile, arrived: number): void;
}

/**
 * Fetches one file into the folder: goes on with what an earlier call left, and after broken connections;
 * checks length and hash; puts it in its place only when it is complete.
 *
 * @throws UserError when it cannot be had or is not what the Hub lists
 */
export async function downloadFile(file: WantedFile, download: Download): Promise<void> {
  const { hub, folder, manifest, signal } = download;
  const what = `${file.path} of ${hub.repository.id}`;
  using part = await PartFile.open(
    join(folder, file.path),
    file,
    canContinue(file, manifest),
    signal,
  );
  download.onProgress(file, part.length);
  let furthest = part.length;
  // An empty file needs no request, nor does one of which only the check was missing.
  await withRetries(what, hub.patience, async () => {
    try {
      if (part.length < file.size) await fetchRest(part, file, download);
    } catch (error) {
      if (!(error instanceof TemporaryFailure)) throw error;
      // A server that begins anew each time and breaks off at the same place gives nothing more.
      const hasProgressed = part.length > furthest;
      furthest = Math.max(furthest, part.length);
      throw new TemporaryFailure(error.message, error.retryAfter, hasProgressed);
    }
  });
  const found = part.finish();
  if (found !== file.checksum.hex) {
    const { algorithm, hex } = file.checksum;
    throw new UserError(
      `${what} arrived with ${algorithm} ${found}; the Hub lists ${hex}. It was removed; run the ` +
        `command again. If that does not help, a proxy or mirror on the way holds a wrong copy.`,
    );
  }
  manifest.keepFile(file);
}

/** Whether a part left by an earlier call can be of this file. */
export function canContinue(file: WantedFile, manifest: Manifest): boolean {
  const begun = manifest.part(file.path);
  return begun !== undefined && isSameChecksum(begun.checksum, file.checksum);
}

async function fetchRest(part: PartFile, file: WantedFile, download: Download): Promise<void> {
  const { hub, commit, manifest } = download;
  const begun = part.length;
  const etag = manifest.part(file.path)?.etag ?? null;
  const range: Record<string, string> = begun === 0 ? {} : {
    range: `bytes=${begun}-`,
    // Without an ETag the hash at the end tells whether the pieces belong together.
    ...(etag === null ? {} : { "if-range": etag }),
  };
  const response = await hub.open(commit, file.path, range);
  try {
    beginAt(response, part, file);
    const kept = response.status === 206 ? etag : null;
    manifest.keepPart(file.path, file.checksum, strongEtag(response.headers) ?? kept);
    for await (const bytes of response.body) {
      if (part.length + bytes.length > file.size) {
        part.restart();
        throw new UserError(
          `${file.path} of ${hub.repository.id} is longer than the ${file.size} bytes that the Hub ` +
            `lists. A proxy or mirror on the way holds a wrong copy.`,
        );
      }
      part.append(bytes);
      download.onProgress(file, part.length);
    }
    if (part.length < file.size) throw new TemporaryFailure("the connection ended early");
  } finally {
    await response.close();
  }
}

/** Makes the part end where the answer begins: the server may not honour the range, or no longer. */
function beginAt({ status, headers }: HubResponse, part: PartFile, file: WantedFile): void {
  if (status === 200) {
    if (part.length > 0) part.restart();
    return;
  }
  const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get("content-range") ?? "");
  const [, begin, total] = range ?? [];
  const fits = status === 206 && Number(begin) === part.length &&
    (total === "*" || Number(total) === file.size);
  if (fits) return;
  part.restart();
  throw new TemporaryFailure("the server gave another part than was asked for");
}

/** A weak ETag does not promise the same bytes, so it cannot join two halves. */
function strongEtag(headers: Headers): string | null {
  const etag = headers.get("etag");
  return etag !== null && /^"[^"]*"$/.test(etag) ? etag : null;
}
