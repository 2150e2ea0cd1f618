/** `report.md` and `curves.svg` of supervised fine-tuning. */

import { basename } from "../../platform/system/paths.ts";
import { writeFileAtomically } from "../../platform/files/atomic_file.ts";
import { chainEnd } from "./chain_end.ts";
import { describeChanges } from "./changes.ts";
import { metricPoints } from "./curves.ts";
import { formatDuration } from "../../base/duration.ts";
import { readJsonLines } from "../store/json_lines_log.ts";
import { renderLineCharts, SERIES_COLORS } from "./line_charts.ts";
import { formatBytes } from "../../base/format_bytes.ts";
import { METRIC } from "../store/metric_names.ts";
import type { MetricsLine } from "../store/metrics_log.ts";
import type { RunFacts } from "./run_facts.ts";
import { describeDevice } from "../../gpu/describe_device.ts";
import { problemsName } from "../problems/open_problems.ts";
import { CONTINUE, type RunFolder } from "../store/run_folder.ts";
import type { SftConfig } from "../config/sft_config_schema.ts";

/** The accuracy that ends the fine-tuning of a policy, and how to call it. */
export function sftAccuracy(policy: SftConfig["policy"]): { name: string; metric: string } {
  return policy === "generator"
    ? { name: "generator accuracy, greedy", metric: METRIC.generatorAccuracy }
    : { name: "verifier balanced accuracy", metric: METRIC.verifierBalancedAccuracy };
}

/**
 * Writes report.md and curves.svg into a run's folder from its metrics.jsonl.
 *
 * @param weights where they are; null when it was stopped before its end
 */
export function writeSftReport(
  run: RunFolder,
  config: SftConfig,
  weights: string | null,
  facts: RunFacts,
): void {
  const lines = readJsonLines<MetricsLine>(run.metrics);
  const { name, metric } = sftAccuracy(config.policy);
  const [color, other] = SERIES_COLORS;
  const accuracy = metricPoints(lines, metric);
  const pairs = config.preferences !== null;
  writeFileAtomically(
    run.curves,
    renderLineCharts([
      ...(accuracy.length === 0 ? [] : [{
        title: "Held-out problems",
        subtitle: name,
        xName: "update",
        isShare: true,
        series: [{ name, color, points: accuracy }],
      }]),
      ...(pairs
        ? [{
          title: "Pairs told apart",
          subtitle: "share whose better response has the higher reward",
          xName: "update",
          isShare: true,
          series: [
            { name: "training", color, points: metricPoints(lines, METRIC.preferenceAccuracy) },
            {
              name: "held out",
              color: other,
              points: metricPoints(lines, METRIC.heldOutPreferenceAccuracy),
            },
          ],
        }]
        : []),
      {
        title: "Loss",
        subtitle: pairs ? "mean loss of a pair" : "mean loss of a token",
        xName: "update",
        series: [
          { name: "training", color, points: metricPoints(lines, METRIC.supervisedLoss) },
          { name: "held out", color: other, points: metricPoints(lines, METRIC.heldOutLoss) },
        ],
      },
    ]),
    CONTINUE,
  );
  writeFileAtomically(run.report, composeSftReport(run, config, weights, facts, lines), CONTINUE);
}

function composeSftReport(
  run: RunFolder,
  config: SftConfig,
  weights: string | null,
  { device, seconds, memory, warnings }: RunFacts,
  lines: readonly MetricsLine[],
): string {
  const updates = new Set(
    lines.filter(({ phase }) => phase !== "evaluation").map(({ step }) => step),
  ).size;
  const last = lines.findLast(({ phase }) => phase === "evaluation");
  const rows = Object.entries(last ?? {}).filter(([key]) => key.startsWith("eval/"));
  const end = chainEnd(run);
  const begin = config.initial_model === null ? "random weights" : `\`${config.initial_model}\``;
  const [what, unit] = config.preferences === null
    ? ["Supervised fine-tuning", "examples"]
    : ["Direct preference optimisation", "pairs"];
  return `# ${what} of the ${config.policy} on ${problemsName(config)}

${updates} updates of ${config.batch_size} ${unit} from ${begin}, seed ${config.seed}, in ${
    formatDuration(seconds)
  }
on ${describeDevice(device)}; ${formatBytes(memory.peakBytes)} of GPU memory at most, ${
    formatBytes(memory.plannedBytes)
  } planned.${end === null ? "" : `\nIts chain of records ends with \`${end}\`.`}
${
    weights === null
      ? "It was stopped before its end; `./tango sft --resume` goes on."
      : `The weights are in \`${weights}\`.`
  }

${describeChanges(lines).map((change) => `Changed: ${change}.\n\n`).join("")}${
    warnings.map((said) => `Warning: ${said}\n\n`).join("")
  }![Accuracy and loss](${basename(run.curves)})

Last evaluation, on up to ${config.evaluation.problems} ${unit} that training never sees:

| | |
| --- | ---: |
${rows.map(([key, value]) => `| ${key} | ${Number(value).toFixed(3)} |`).join("\n")}

${
    config.preferences !== null
      ? "Loss is the mean over the held-out pairs of −log σ(margin), nats, ln 2 where nothing was learned; a margin is " +
        `the\nbetter response's reward less the worse one's, a reward ${config.preferences.beta} · (log π − log π_ref).`
      : config.data !== null
      ? "Loss is the mean over the response tokens of the held-out examples, nats."
      : config.policy === "generator"
      ? "Accuracy is greedy; sampled_accuracy is at temperature 1, as in a rollout."
      : "The solutions judged here are written, half of them corrupted or as correct_share says; a " +
        "generator's own\nmistakes differ from these."
  }
`;
}
