/** What the control API answers, as the page reads it. */

import type { Settings } from "../../run/config/changeable.ts";
import type { JudgedSolution } from "../../run/tango/judge_solution.ts";

export type { JudgedSolution };
export type { EventLine } from "../../run/events/told_event.ts";
export type { CritiqueSample, Sample } from "../../run/store/samples_log.ts";
export type { PackedNumbers } from "../../run/store/packed_numbers.ts";
export type { SampleTokens } from "../../run/store/sample_tokens.ts";

/** Where a run is in its life. */
export type RunState =
  | "waiting"
  | "starting"
  | "running"
  | "paused"
  | "stopping"
  | "stopped"
  | "finished"
  | "failed"
  | "killed"
  | "lost";

/** One run as the list of runs has it. */
export interface Run {
  readonly id: string;
  readonly kind: "train" | "sft" | "compare";
  /** The comparison that it is a run of. */
  readonly comparison: string | null;
  readonly state: RunState;
  readonly step: number;
  /** 0 as long as it has not said. */
  readonly totalSteps: number;
  readonly phase: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly secondsLeft: number | null;
  readonly folder: string;
  readonly ranks: number;
  readonly error: string | null;
  /** Bytes of GPU memory: at most by the plan, held at present, and the most that were in use at once. */
  readonly memory: {
    readonly planned: number;
    readonly live: number | null;
    readonly peak: number | null;
  } | null;
}

/** Mean and sample standard deviation over some runs. */
export interface Measured {
  readonly mean: number;
  readonly deviation: number;
  readonly runs: number;
}

/** What a comparison does, in this order, and what came of it so far. */
export interface Comparison {
  readonly runs: readonly { readonly id: string; readonly method: string; readonly seed: number }[];
  readonly table: readonly {
    readonly name: string;
    readonly runs: number;
    readonly generatorAccuracy: Measured | null;
    readonly verifierBalancedAccuracy: Measured | null;
  }[];
}

/** Rows of a run's logs in order; a step has one for its training and one for its evaluation. */
export interface MetricsTable {
  readonly steps: readonly number[];
  readonly phases: readonly string[];
  readonly series: Readonly<Record<string, readonly (number | null)[]>>;
}

/** A run's configuration as it holds now. */
export interface RunConfiguration {
  readonly configuration: Readonly<Record<string, unknown>>;
  /** Keys that may change while the run goes on, with their present values. */
  readonly changeable: Settings;
  readonly changes: readonly {
    readonly step: number;
    readonly settings: Settings;
    /** What the same keys were. */
    readonly before: Readonly<Record<string, string | number | boolean | null>>;
  }[];
}

/** Verdicts against the truth in one step, counts or shares; CORRECT is the positive class. */
export interface ConfusionPoint {
  readonly step: number;
  readonly source: string;
  readonly trueCorrect: number;
  readonly falseCorrect: number;
  readonly trueIncorrect: number;
  readonly falseIncorrect: number;
  /** Verdicts that could not be read. */
  readonly unparsed: number;
}

/** Seconds since the run began in which a rank did one thing: was in a phase of a step, waited or communicated. */
export interface Span {
  readonly name: string;
  readonly step: number;
  readonly begin: number;
  readonly end: number;
}

/** One rank's row of the timeline. */
export interface RankSpans {
  readonly rank: number;
  /** Ascending and disjoint. */
  readonly spans: readonly Span[];
}

/** A checkpoint on the disk. */
export interface CheckpointEntry {
  readonly step: number;
  readonly bytes: number;
  readonly createdAt: string;
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

/** A configuration to start from. */
export interface Preset {
  readonly name: string;
  readonly kind: string;
  readonly description: string;
  readonly configuration: Readonly<Record<string, unknown>>;
}

/** What a run will take of the GPU's memory; bytes. */
export interface Plan {
  readonly peakBytes: number;
  readonly limitBytes: number | null;
  readonly resident: readonly { readonly what: string; readonly bytes: number }[];
  /** Only the largest counts. */
  readonly phases: readonly { readonly what: string; readonly bytes: number }[];
}

/** A model that is being fetched, or was. */
export interface Pull {
  readonly id: string;
  readonly path: string;
  readonly state: "running" | "done" | "failed";
  /** Bytes that are here, of those that were missing. */
  readonly arrived: number;
  /** Null before that is known. */
  readonly total: number | null;
  readonly error: string | null;
}

/** Models on the disk, by the path that a configuration calls them. */
export interface ModelList {
  readonly models: readonly {
    readonly path: string;
    readonly kind: string;
    readonly bytes: number;
  }[];
  readonly pulls: readonly Pull[];
}

/** A line of what POST /api/verify answers. */
export type VerifyLine =
  | { readonly type: "solution" | "critique"; readonly text: string }
  | { readonly type: "judged" } & JudgedSolution
  | { readonly type: "failed"; readonly message: string };

/** The part of JSON Schema that configurations and the API use. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly example?: unknown;
  readonly enum?: readonly (string | number | boolean | null)[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

/** One request of an OpenAPI document. */
export interface OpenApiOperation {
  readonly summary?: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  readonly responses: Readonly<
    Record<string, {
      readonly description: string;
      readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
    }>
  >;
}

/** The part of an OpenAPI document that the page shows. */
export interface OpenApi {
  readonly security?: readonly unknown[];
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

/** A benchmark of the kernels. */
export interface Benchmark {
  readonly name: string;
  readonly state: "running" | "done" | "failed";
  readonly startedAt: string | null;
  readonly error: string | null;
}

/** A benchmark with all there is of it. */
export interface BenchmarkDetail extends Benchmark {
  readonly results: BenchmarkResults | null;
  readonly output: string;
}

/** A benchmark's device and results. */
export interface BenchmarkResults {
  readonly engine: string;
  readonly adapter: string;
  readonly software: boolean;
  /** 10⁹ operations, or bytes, per second. */
  readonly rates: {
    readonly gflops: number;
    readonly gbps: number;
    readonly driverCopyGbps: number;
  };
  readonly results: readonly {
    readonly name: string;
    readonly shape: string;
    readonly unit: "gflops" | "gbps" | "tokens_per_second";
    readonly milliseconds: number;
    /** Between the quartiles, as a share of the median. */
    readonly spread: number | null;
    readonly rate: number;
    readonly share: number | null;
    /** Right up to 1; null: not finite. */
    readonly error: number | null;
  }[];
}

/** A benchmark beside an earlier one. */
export interface BenchmarkComparison {
  readonly earlier: string;
  readonly isSameDevice: boolean;
  readonly results: readonly {
    readonly name: string;
    readonly shape: string;
    readonly earlierMilliseconds: number;
    /** 2 takes half the time. */
    readonly speed: number | null;
    readonly noise: number;
    readonly change: "faster" | "slower" | "same" | null;
  }[];
  readonly unmatched: readonly string[];
}
