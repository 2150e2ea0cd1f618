/** Files whose content other ranks hold and the first rank writes: they come to it in pieces. */

import type { Communicator } from "../../distributed/communicator.ts";
import type { Placed } from "../../distributed/placed.ts";
import { broadcastOutcome } from "../../distributed/outcomes.ts";
import { broadcastValue } from "../../distributed/values.ts";
import type { FileContent } from "../../model/weights/file_content.ts";

/** Contents of a file: text, or bytes that come in pieces. */
type Content = string | FileContent;

/**
 * Files of something that some ranks hold, by their names. All ranks call it, and then all read what comes in
 * pieces, file after file and each of them once: the first rank by writing it, the others by `writtenByFirst`.
 */
export async function sharedFiles<Thing, Kind extends Content>(
  { all, ranks: [source], here }: Placed<Thing>,
  make: (thing: Thing) => Readonly<Record<string, Kind>>,
): Promise<Record<string, Kind>> {
  const own = here === null ? null : make(here);
  const facts = own &&
    Object.entries<Content>(own).map(([file, content]) =>
      [file, typeof content === "string" ? content : content.bytes] as const
    );
  const told = await broadcastValue(all, facts, source) ?? [];
  return Object.fromEntries(told.map(([file, content]) => {
    if (typeof content === "string") return [file, content as Kind];
    const made: Content | undefined = own?.[file];
    const pieces = () =>
      made !== undefined && typeof made !== "string"
        ? givenOn(all, source, made)
        : received(all, source, content);
    return [file, { bytes: content, pieces } as Kind];
  }));
}

/** A file that this rank holds; `source` sends it to the first rank, which may not hold it. */
async function* givenOn(
  all: Communicator,
  source: number,
  content: FileContent,
): AsyncGenerator<Uint8Array> {
  for await (const piece of content.pieces()) {
    if (source !== 0 && all.rank === source) {
      await all.send(new Uint8Array(Uint32Array.of(piece.length).buffer), 0);
      await all.send(piece, 0);
    }
    yield piece;
  }
}

/** A file that this rank does not hold; only the first one is sent it. */
async function* received(
  all: Communicator,
  source: number,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  if (all.rank !== 0) return;
  for (let missing = bytes; missing > 0;) {
    const length = new Uint32Array(1);
    await all.receive(new Uint8Array(length.buffer), source);
    const piece = new Uint8Array(length[0]);
    await all.receive(piece, source);
    missing -= piece.length;
    yield piece;
  }
}

/**
 * Lets the first rank write shared files while the others give it what they hold. All ranks call it.
 *
 * @param write writes all of the files, in their order
 * @returns what it returned, on all ranks
 */
export async function writtenByFirst<Result>(
  all: Communicator,
  files: readonly Readonly<Record<string, Content>>[],
  write: () => Promise<Result>,
): Promise<Result> {
  for (const content of all.rank === 0 ? [] : files.flatMap((some) => Object.values(some))) {
    if (typeof content === "string") continue;
    for await (const _piece of content.pieces()) { /* reading it sends it */ }
  }
  return await broadcastOutcome(all, 0, write);
}
