import { basename } from "node:path";
import { formatDuration } from "../../base/duration.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import type { LoadListener } from "../../gpu/activity.ts";
import { type ProgressOutput, standardError } from "./progress_line.ts";

/** What is read faster needs no word. */
const QUIET_MS = 2_000;
const PLAIN_INTERVAL_MS = 10_000;

/** Says how far a file of weights has been read, once that takes a while. */
export function loadProgress(output: ProgressOutput = standardError()): LoadListener {
  let reading = "", begin = 0, lastPlain = 0, isShown = false;
  return (path, done, total) => {
    const now = output.now();
    if (path !== reading) {
      [reading, begin, lastPlain, isShown] = [path, now, now - PLAIN_INTERVAL_MS + QUIET_MS, false];
    }
    const elapsed = now - begin;
    const isDone = done === total;
    if (isDone) reading = "";
    if (!isShown && (elapsed < QUIET_MS || isDone)) return;
    const left = isDone
      ? `read in ${formatDuration(elapsed / 1000)}`
      : `${formatDuration(elapsed / 1000 * (total - done) / done)} left`;
    const line = `${basename(path)} · ${formatBytes(done)} of ${formatBytes(total)} · ${left}`;
    if (output.isTerminal) {
      output.rewrite(line);
      if (isDone) output.finish();
    } else if (isDone || now - lastPlain >= PLAIN_INTERVAL_MS) {
      output.writeLine(line);
      lastPlain = now;
    }
    isShown = true;
  };
}
