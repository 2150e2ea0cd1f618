import { Digest } from "../../platform/files/digest.ts";
import type { Settings } from "../config/changeable.ts";
import type { RunEvents } from "../events/run_events.ts";
import type { Parts, RecordKind } from "../store/audit_log.ts";
import type { Metrics } from "../store/metrics_log.ts";
import type { Sample } from "../store/samples_log.ts";
import { extendChain } from "./hash_chain.ts";

/** What was made in a step or an evaluation. */
export interface Made {
  /** Digests of what it went by, see `step_parts.ts`. */
  readonly parts: Parts;
  readonly metrics: Metrics;
  readonly samples?: readonly Sample[];
  /** Settings that are new in it. */
  readonly settings?: Settings;
}

/** The digests of what was made, those of its lines in the logs among them. */
export function partsOf({ parts, metrics, samples = [], settings = {} }: Made): Parts {
  return {
    ...(Object.keys(settings).length > 0 && { settings: new Digest().value(settings).hex() }),
    ...parts,
    metrics: digestOfMetrics(Object.entries(metrics)),
    ...(samples.length > 0 && {
      samples: digestOfSamples(samples.map((sample) => JSON.stringify(sample))),
    }),
  };
}

/** The digest of a step's metrics, names and values, as metrics.jsonl has them. */
export function digestOfMetrics(metrics: readonly (readonly [string, unknown])[]): string {
  // Those that are not finite are in no log.
  return new Digest().value(metrics.filter(([, value]) => Number.isFinite(value))).hex();
}

/** The digest of a step's lines in samples.jsonl. */
export function digestOfSamples(lines: readonly string[]): string {
  const digest = new Digest();
  for (const line of lines) digest.text(line);
  return digest.hex();
}

/** Keeps a run's hash chain: tells each record as a line of audit.jsonl. */
export class RunRecord {
  #end: string;

  /** @param end of the chain so far */
  constructor(private readonly events: RunEvents, end: string) {
    this.#end = end;
  }

  /** The chain's end, 64 hexadecimal digits once there is a record. */
  get end(): string {
    return this.#end;
  }

  /** Adds a record. */
  add(step: number, phase: RecordKind, parts: Parts): void {
    this.#end = extendChain(this.#end, { step, phase, parts });
    this.events.emit({ type: "record", step, phase, parts, chain: this.#end });
  }
}
