import type { RunEvents } from "../events/run_events.ts";
import { type LogChoice, RunLogs } from "../events/run_logs.ts";
import { warnOfSkippedCheckpoints } from "../events/skipped_checkpoints.ts";
import type { LoggedSoFar } from "../store/audit_log.ts";
import type { RunFolder } from "../store/run_folder.ts";

/** Records that are kept of a run. */
export interface Records {
  readonly folder: RunFolder;
  readonly events: RunEvents;
  /** Steps done before the run was resumed. */
  readonly stepsDone: number;
  /** Where the logs of a resumed run go on; undefined in a new run. */
  readonly resumed: LoggedSoFar | undefined;
  readonly logs: LogChoice;
  /** Writes the report, at the end. */
  readonly report: (reachedEnd: boolean) => void;
}

/** Writes a run's logs as it goes on, and its report when it is finished. Of several ranks the first one does. */
export function keepRecords(
  { folder, events, stepsDone, resumed, logs: choice, report }: Records,
): Disposable {
  using opened = new DisposableStack();
  warnOfSkippedCheckpoints(events, folder, stepsDone);
  const logs = opened.use(new RunLogs(folder, resumed, choice));
  for (const message of logs.damage) events.emit({ type: "warning", step: stepsDone, message });
  opened.use(events.listen((event) => logs.hear(event)));
  opened.use(events.listen((event) => {
    if (event.type === "finished") report(event.reachedEnd);
  }));
  return opened.move();
}
