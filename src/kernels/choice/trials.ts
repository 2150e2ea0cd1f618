import type { Trials } from "../../gpu/measure_variants.ts";
import type { Variant } from "../../gpu/variants.ts";
import { decodeTrials } from "./decode_trials.ts";
import { gemmTrials } from "./gemm_trials.ts";

/** The operations whose variants are measured. */
export const kernelTrials: readonly Trials<unknown, Variant>[] = [gemmTrials, decodeTrials];

/** WGSL texts of these operations: a measurement holds only for the texts it was made with. */
export const trialTexts: readonly string[] = kernelTrials.flatMap(({ texts }) => texts);
