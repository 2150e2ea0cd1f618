/**
 * A Markdown table whose columns line up, so that it reads well in a terminal too.
 *
 * @param rows the first is the head; all have the same number of cells. The first column is aligned to
 *   the left, the others to the right.
 */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const widths = rows[0].map((_, column) =>
    Math.max(4, ...rows.map((row) => [...row[column]].length))
  );
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => pad(cell, widths[column], column > 0)).join(" | ")} |`;
  const rule = widths.map((width, column) =>
    column === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`
  );
  return [line(rows[0]), line(rule), ...rows.slice(1).map(line)].join("\n");
}

function pad(cell: string, width: number, toTheRight: boolean): string {
  const space = " ".repeat(width - [...cell].length);
  return toTheRight ? space + cell : cell + space;
}
