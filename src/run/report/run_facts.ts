import type { DeviceInfo } from "../../gpu/adapter.ts";

/** Facts for a report that the run's metrics do not hold. */
export interface RunFacts {
  readonly device: Pick<DeviceInfo, "name" | "index" | "software" | "engine">;
  /** Wall-clock seconds of this process's part of the run. */
  readonly seconds: number;
  /** GPU memory by the plan and what was live at once. */
  readonly memory: { readonly plannedBytes: number; readonly peakBytes: number };
  /** Warnings of the run, see `describeWarnings`. */
  readonly warnings: readonly string[];
  /** false when the run was stopped before its end. */
  readonly reachedEnd: boolean;
}
