import { compose } from "../../parts/compose.ts";
import type { Parts } from "../../../gpu/wgsl.ts";
import advance_slot from "./advance_slot.wgsl" with { type: "text" };
import logit_order from "./logit_order.wgsl" with { type: "text" };
import philox from "./philox.wgsl" with { type: "text" };
import sample_filters from "./sample_filters.wgsl" with { type: "text" };

const own: Parts = {
  advance_slot,
  logit_order,
  philox,
  sample_filters,
};

/** A kernel of sampling with the parts it includes. */
export function composeSampling(text: string): string {
  return compose(text, own);
}
