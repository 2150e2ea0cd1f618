import { CHANGED } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";

/** The settings that changed while a run went on, such as "`rollout.temperature` 0.8 from step 12 on". */
export function describeChanges(lines: readonly MetricsLine[]): string[] {
  return lines.flatMap((line) =>
    Object.entries(line).filter(([name]) => name.startsWith(CHANGED))
      .map(([name, value]) =>
        `\`${name.slice(CHANGED.length)}\` ${value} from step ${line.step} on`
      )
  );
}
