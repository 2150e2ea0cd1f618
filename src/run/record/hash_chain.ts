import { Digest } from "../../platform/files/digest.ts";
import type { RecordLine } from "../store/audit_log.ts";

/** What a chain ends with before its first record. */
export const CHAIN_BEGIN = "";

/** A chain with one more record: SHA-256 of the end so far and of all that the record says. */
export function extendChain(
  chain: string,
  { step, phase, parts }: Omit<RecordLine, "chain">,
): string {
  return new Digest().text(chain).value([step, phase, Object.entries(parts)]).hex();
}
