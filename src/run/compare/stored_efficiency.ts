import { z } from "zod";
import { exists } from "../../platform/files/atomic_file.ts";
import { UserError } from "../../base/user_error.ts";
import { comparisonFiles } from "./comparison_folder.ts";
import type { Efficiency } from "./comparison_results.ts";

const resultsSchema = z.object({
  baseline: z.string(),
  jobs: z.int(),
  efficiency: z.array(z.object({
    arm: z.string(),
    pairs: z.int(),
    shares: z.array(z.object({
      steps: z.number(),
      seconds: z.number(),
      tokens: z.number().nullable(),
    })),
  })),
});

/** How soon the arms of a comparison come to where its baseline ended. */
export interface StoredEfficiency {
  /** Name of the arm. */
  readonly baseline: string;
  /** Runs that went on at once: seconds are only as good as that. */
  readonly jobs: number;
  readonly efficiency: readonly Efficiency[];
}

/**
 * The efficiency that compare.json holds; null before it is written, and of earlier versions, which did not tell it.
 *
 * @param path of the comparison's folder
 * @throws UserError when the file is damaged
 */
export function readEfficiency(path: string): StoredEfficiency | null {
  const { results } = comparisonFiles(path);
  if (!exists(results)) return null;
  const { data } = resultsSchema.safeParse(readJson(results));
  return data ?? null;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UserError(
      `${path} is damaged: it is no JSON. Remove it; ./tango compare --resume writes it anew.`,
    );
  }
}
