import { z } from "zod";
import { activityOf, type TimelineLine } from "../../run/store/timeline_log.ts";
import { UserError } from "../../base/user_error.ts";
import { readAt } from "../index/growth.ts";

const spanSchema = z.object({
  name: z.string().describe(
    "`rollout`, `verification`, `continuation`, `forward-backward`, `optimizer`, `update` (its rest), `evaluation`, `checkpoint`; `idle`, `communicate`.",
  ),
  step: z.int(),
  begin: z.number(),
  end: z.number(),
});

/** What a rank did in some steps, in seconds since the run began. */
export const rankTimelineSchema = z.object({ rank: z.int(), spans: z.array(spanSchema) });
export type RankTimeline = z.infer<typeof rankTimelineSchema>;

/** Bytes of the log that are read at most; of more than they hold, the last steps. */
const MOST_BYTES = 1 << 18;
/** Read to find a line and its step. */
const PART_BYTES = 1 << 12;

/**
 * What each rank did in some steps. Lines ascend by step, so those asked for are found by halving.
 *
 * @param path of timeline.jsonl; where there is none, as in a run that has not begun, nothing was done
 * @param started when the run began, milliseconds since 1970
 */
export function readTimeline(
  path: string,
  { from, to }: { readonly from: number; readonly to: number },
  started: number,
): RankTimeline[] {
  const ranks: RankTimeline["spans"][] = [];
  for (const line of readLines(path, from, to)) {
    activityOf(line).forEach((spans, rank) => {
      const ofRank = ranks[rank] ??= [];
      for (const { name, begin, end } of spans) {
        const seconds = (moment: number) => (moment - started) / 1000;
        ofRank.push({ name, step: line.step, begin: seconds(begin), end: seconds(end) });
      }
    });
  }
  return ranks.map((spans, rank) => ({ rank, spans }));
}

function readLines(path: string, from: number, to: number): TimelineLine[] {
  let log: Deno.FsFile;
  try {
    if (!Deno.statSync(path).isFile) return []; // a pipe would be waited for
    log = Deno.openSync(path, { read: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
  using file = log;
  const { size } = file.statSync();
  const end = firstLine(file, size, to + 1);
  const begin = Math.max(
    firstLine(file, size, from),
    lineAfter(file, size, Math.max(0, end - MOST_BYTES)),
  );
  if (begin >= end) return [];
  const text = new TextDecoder().decode(readAt(file, begin, end - begin));
  // A last line may be in the making.
  return text.split("\n").slice(0, -1).map((line) => parseLine(line, path));
}

const lineSchema = z.object({
  step: z.number(),
  at: z.number(),
  names: z.array(z.string()),
  ranks: z.array(z.array(z.number())),
});

function parseLine(line: string, path: string): TimelineLine {
  try {
    return lineSchema.parse(JSON.parse(line));
  } catch {
    throw new UserError(
      `${path} is damaged: ${
        JSON.stringify(line.slice(0, 60))
      } is no line of it. Remove that line.`,
    );
  }
}

/** Where the first line begins whose step is at least `step`; the end of the whole lines when there is none. */
function firstLine(file: Deno.FsFile, size: number, step: number): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const line = lineAfter(file, size, middle);
    const found = line < high ? stepAt(file, line) : null;
    if (found !== null && found < step) low = lineAfter(file, size, line + 1);
    else high = middle;
  }
  return low;
}

/** Where the first line begins at a place or after it; the log's size when none does. */
function lineAfter(file: Deno.FsFile, size: number, place: number): number {
  if (place === 0) return 0;
  for (let at = place - 1; at < size; at += PART_BYTES) {
    const end = readAt(file, at, Math.min(PART_BYTES, size - at)).indexOf(0x0a);
    if (end >= 0) return at + end + 1;
  }
  return size;
}

/** @returns null of a line that is in the making */
function stepAt(file: Deno.FsFile, place: number): number | null {
  const begin = new TextDecoder().decode(readAt(file, place, 64));
  const [, step] = /^\{"step":(\d+)/.exec(begin) ?? [];
  return step === undefined ? null : Number(step);
}
