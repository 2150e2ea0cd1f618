/** What a page and the worker that measures its GPU say to each other. */

import type { BenchResult, ResultsFile } from "../results.ts";

/** What the worker tells, one result after another; it is asked by being started. */
export type MeasuredTold =
  | { readonly type: "began"; readonly adapter: string; readonly tasks: number }
  | { readonly type: "result"; readonly result: BenchResult }
  /** A kernel whose work this device does not take, and why. */
  | { readonly type: "refused"; readonly name: string; readonly message: string }
  | { readonly type: "done"; readonly file: ResultsFile; readonly name: string }
  | { readonly type: "failed"; readonly message: string };
