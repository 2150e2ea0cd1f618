import type { DeviceInfo } from "../../gpu/adapter.ts";

/** What a report says about a run and cannot find in its metrics. */
export interface RunFacts {
  readonly device: Pick<DeviceInfo, "name" | "index" | "software" | "engine">;
  /** Wall-clock seconds of this process's part of the run. */
  readonly seconds: number;
  /** GPU memory by the plan and what was live at once. */
  readonly memory: { readonly plannedBytes: number; readonly peakBytes: number };
  /** What it warned of, see `describeWarnings`. */
  readonly warnings: readonly string[];
  /** false when the run was stopped before its end. */
  readonly reachedEnd: boolean;
}
