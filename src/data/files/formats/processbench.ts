import { labelledSolution } from "../column_mapping.ts";
import { type Format, makeRecord } from "../record.ts";
import { placeText } from "../row.ts";
import { findColumn, optionalTextOf, textOf } from "../row_values.ts";

/**
 * ProcessBench, solutions by models whose first wrong step people marked (Zheng et al. 2024,
 * arXiv:2412.06559). Its four parts, which are measured apart, are told by the id: gsm8k-12.
 */
export const processbench: Format = {
  name: "processbench",
  description: "ProcessBench: solutions to be judged, with the place of the first wrong step",
  columns: ["id", "problem", "steps", "label"],

  toRecord(row, place) {
    const question = textOf(row, ["problem"], place);
    if (question === null) return { leftOut: "no question" };
    const id = optionalTextOf(row, ["id"], place);
    return makeRecord({
      question,
      source: /^(.+)-\d+$/.exec(id ?? "")?.[1] ?? place.defaultSource,
      judged: labelledSolution(
        { column: "steps", value: row[findColumn(row, ["steps"], place)] },
        { column: "label", value: row[findColumn(row, ["label"], place)] },
        placeText(place),
      ),
    });
  },
};
