/**
 * The run that a browser keeps, in the file system that it gives each site: one tar file of the run's folder, where the
 * run stands first, replaced as a whole with each checkpoint. A tab that is closed at any moment leaves the run as it was
 * last saved.
 */

import { z } from "zod";
import { firstOf } from "../files/archive.ts";
import type { KeptRun } from "./messages.ts";

const NAME = "run.tar";

/** What is first in the file. */
export const STANDING = "standing.json";

const standingSchema = z.object({ preset: z.string(), step: z.number(), total: z.number() });

/** Where a run stands, and what it was begun with. */
export type Standing = z.infer<typeof standingSchema>;

/** What is kept; null where nothing is, or the browser keeps nothing, as in a private window. */
export async function findKept(): Promise<KeptRun | null> {
  const file = await fileAt().catch(() => null);
  if (file === null) return null;
  try {
    const { name, text } = firstOf(new Uint8Array(await file.slice(0, 4096).arrayBuffer()));
    if (name !== STANDING) return null;
    const standing = standingSchema.parse(JSON.parse(text));
    return { ...standing, bytes: file.size, saved: file.lastModified };
  } catch {
    return null; // begun to be written, or by another version of the page
  }
}

/** @throws Error when nothing is kept */
export async function readKept(): Promise<Uint8Array<ArrayBuffer>> {
  const file = await fileAt();
  if (file === null) throw new Error("no run is kept in this browser");
  return new Uint8Array(await file.arrayBuffer());
}

/** Keeps a run in the place of the one before: what is written is there once the stream is closed, and not before. */
export async function keep(tar: Uint8Array<ArrayBuffer>): Promise<void> {
  const folder = await navigator.storage.getDirectory();
  const stream = await (await folder.getFileHandle(NAME, { create: true })).createWritable();
  await stream.write(tar);
  await stream.close();
}

/** Keeps none any more. */
export async function forget(): Promise<void> {
  const folder = await navigator.storage.getDirectory();
  await folder.removeEntry(NAME).catch((error) => {
    if (error.name !== "NotFoundError") throw error;
  });
}

async function fileAt(): Promise<File | null> {
  const folder = await navigator.storage.getDirectory();
  try {
    return await (await folder.getFileHandle(NAME)).getFile();
  } catch (error) {
    if ((error as Error).name === "NotFoundError") return null;
    throw error;
  }
}
