/** docs/results.md with its tables made anew from bench/results. */

import { join } from "node:path";
import { PROJECT_FOLDER } from "../project.ts";
import { creditTable } from "./credit_table.ts";
import { defaultRunTable } from "./default_run_table.ts";
import { testTimeTable } from "./test_time_table.ts";

/** Where the page lies. */
export const RESULTS_PAGE: string = join(PROJECT_FOLDER, "docs/results.md");

/** Tables by the names that the page has for them. */
const TABLES: Readonly<Record<string, () => string>> = {
  "default run": defaultRunTable,
  "credit": creditTable,
  "test time": testTimeTable,
};

const END = "<!-- end of table -->";

/**
 * A page in which what stands between `<!-- table: NAME -->` and the next `<!-- end of table -->` is made anew.
 *
 * @throws Error when it names a table that there is not, or leaves one out
 */
export function withTables(
  page: string,
  tables: Readonly<Record<string, () => string>> = TABLES,
): string {
  const left = new Set(Object.keys(tables));
  const filled = page.replace(/<!-- table: (.+?) -->[^]*?<!-- end of table -->/g, (_, name) => {
    const make = tables[name];
    if (make === undefined) throw new Error(`the page has a table that nobody writes: ${name}`);
    left.delete(name);
    return `<!-- table: ${name} -->\n\n${make()}\n\n${END}`;
  });
  if (left.size > 0) throw new Error(`the page has no place for: ${[...left].join(", ")}`);
  return filled;
}

/** The page as it is to be. */
export const resultsPage = (): string => withTables(Deno.readTextFileSync(RESULTS_PAGE));
