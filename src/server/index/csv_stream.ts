import { metricSpans, type MetricsQuery, type MetricsTable, readSpans } from "./read_metrics.ts";
import type { RunIndex } from "./run_index.ts";

/** Rows that are written at once: others are served between them. */
const ROWS = 2000;

/** A run's metrics as CSV (RFC 4180), made as it is read. It breaks off when the run is cut back meanwhile. */
export function csvStream(
  index: RunIndex,
  run: number,
  { names, ...range }: MetricsQuery,
): ReadableStream<Uint8Array> {
  const firsts = metricSpans(index, run, range);
  const encoder = new TextEncoder();
  let row = 0;
  return new ReadableStream({
    start(controller) {
      controller.enqueue(encoder.encode(lineOf(["step", "phase", ...names.map(cell)])));
    },
    async pull(controller) {
      if (row >= firsts.length - 1) return controller.close();
      await new Promise((resolve) => setTimeout(resolve, 0));
      const part = firsts.subarray(row, row + ROWS + 1);
      if (part[part.length - 1] > index.rowsOf(run)) {
        return controller.error(new Error("the run went back to an earlier step"));
      }
      controller.enqueue(encoder.encode(linesOf(names, readSpans(index, run, names, part))));
      row += ROWS;
    },
  });
}

function linesOf(names: readonly string[], { steps, phases, series }: MetricsTable): string {
  const columns = names.map((name) => series[name]);
  return steps.map((step, row) =>
    lineOf([step, cell(phases[row]), ...columns.map((values) => values[row] ?? "")])
  ).join("");
}

const lineOf = (cells: readonly (string | number)[]) => `${cells.join(",")}\r\n`;

/** A text's cell. A table program would run one that begins as a formula does, and takes it for a text with a `'`. */
function cell(text: string): string {
  const inert = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}
