/**
 * The run that a browser keeps, in the file system that it gives each site: one tar file of the run's folder, replaced
 * as a whole with each checkpoint, so that a tab that is closed at any moment leaves the run as it was last saved.
 */

import { z } from "zod";
import type { KeptRun } from "./messages.ts";

const ARCHIVE = "run.tar";
const ABOUT = "run.json";

const aboutSchema = z.object({ preset: z.string(), step: z.number(), total: z.number() });

/** Where a run stands. */
export type Standing = z.infer<typeof aboutSchema>;

/** What is kept, without its bytes; null where nothing is. */
export async function findKept(): Promise<KeptRun | null> {
  const archive = await fileAt(ARCHIVE);
  const about = await fileAt(ABOUT);
  if (archive === null || about === null) return null;
  const { data } = aboutSchema.safeParse(JSON.parse(await about.text()));
  if (data === undefined) return null; // another version of the page has written it
  return { ...data, bytes: archive.size, saved: archive.lastModified };
}

/** @throws Error when nothing is kept */
export async function readKept(): Promise<Uint8Array<ArrayBuffer>> {
  const archive = await fileAt(ARCHIVE);
  if (archive === null) throw new Error("no run is kept in this browser");
  return new Uint8Array(await archive.arrayBuffer());
}

/** Keeps a run in the place of the one before. */
export async function keep(tar: Uint8Array<ArrayBuffer>, standing: Standing): Promise<void> {
  await write(ARCHIVE, tar);
  await write(ABOUT, JSON.stringify(standing));
}

/** Keeps none any more. */
export async function forget(): Promise<void> {
  const folder = await navigator.storage.getDirectory();
  for (const name of [ABOUT, ARCHIVE]) {
    await folder.removeEntry(name).catch((error) => {
      if (error.name !== "NotFoundError") throw error;
    });
  }
}

async function fileAt(name: string): Promise<File | null> {
  const folder = await navigator.storage.getDirectory();
  try {
    return await (await folder.getFileHandle(name)).getFile();
  } catch (error) {
    if ((error as Error).name === "NotFoundError") return null;
    throw error;
  }
}

/** What is written is there once the stream is closed, and not before. */
async function write(name: string, content: string | Uint8Array<ArrayBuffer>): Promise<void> {
  const folder = await navigator.storage.getDirectory();
  const stream = await (await folder.getFileHandle(name, { create: true })).createWritable();
  await stream.write(content);
  await stream.close();
}
