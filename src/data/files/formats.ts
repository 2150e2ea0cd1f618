import { UserError } from "../../base/user_error.ts";
import { bgqa } from "./formats/bgqa.ts";
import { aime, amc } from "./formats/contests.ts";
import { cruxeval } from "./formats/cruxeval.ts";
import { eurus2Rl } from "./formats/eurus_2_rl.ts";
import { eurus2Sft } from "./formats/eurus_2_sft.ts";
import { gsm8k } from "./formats/gsm8k.ts";
import { math, math500 } from "./formats/math.ts";
import { olympiadbench } from "./formats/olympiadbench.ts";
import { processbench } from "./formats/processbench.ts";
import { strategyqa } from "./formats/strategyqa.ts";
import { tablebench } from "./formats/tablebench.ts";
import type { Format } from "./record.ts";

/** Published data sets that are read as they are. */
export const formats: readonly Format[] = [
  eurus2Rl,
  eurus2Sft,
  gsm8k,
  math,
  math500,
  aime,
  amc,
  olympiadbench,
  bgqa,
  cruxeval,
  strategyqa,
  tablebench,
  processbench,
];

/** The format of a name. Throws a UserError that lists the names when there is none. */
export function findFormat(name: string): Format {
  const format = formats.find((candidate) => candidate.name === name);
  if (format) return format;
  throw new UserError(
    `format: found "${name}", expected one of ${formats.map(({ name }) => name).join(", ")}. ` +
      'For any other file, set "columns" instead.',
  );
}
