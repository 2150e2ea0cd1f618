import { exists } from "../../platform/files/atomic_file.ts";
import { z } from "zod";
import { readJsonLines } from "../store/json_lines_log.ts";
import { type DeviceFacts, deviceFactsSchema, readRunDevice } from "../store/run_device.ts";
import type { RunFolder } from "../store/run_folder.ts";

/** A start of a run, or its resumption. */
export interface RunStart {
  /** Steps done before. */
  readonly step: number;
  readonly ranks: number;
  /** Null where it is not told. */
  readonly device: DeviceFacts | null;
}

const startSchema = z.object({
  type: z.literal("started"),
  step: z.int(),
  ranks: z.int().default(1),
  device: deviceFactsSchema.nullable().default(null),
});

/** The starts of a run, in their order. */
export function startsOf(folder: RunFolder): RunStart[] {
  if (!exists(folder.events)) return [];
  return readJsonLines(folder.events).flatMap((line) => {
    const { data } = startSchema.safeParse(line);
    return data ? [data] : [];
  });
}

/**
 * The device that did a step of a run; null where it is not told.
 *
 * @param starts of the run
 */
export function deviceAt(
  folder: RunFolder,
  starts: readonly RunStart[],
  step: number,
): DeviceFacts | null {
  return starts.findLast((start) => start.step < step)?.device ?? readRunDevice(folder);
}
