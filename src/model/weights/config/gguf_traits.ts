import type { LayerKind } from "../../decoder/config.ts";

/** What a family's GGUF files have of experts. */
interface GgufExperts {
  /** The weights of a token's experts sum to 1, or not; no key says it. */
  readonly normalised: boolean;
  /** The first layers may have none. */
  readonly mayBeLater?: boolean;
  /** There are numbers that are added to scores where experts are chosen. */
  readonly isBiased?: boolean;
  /** How the format numbers what the router's logits become; no key says it if left out. */
  readonly scores?: number;
}

/** What the GGUF files of a family have otherwise than others. */
export interface GgufTraits {
  /** `general.architecture` */
  readonly name: string;
  /** Rows of queries and keys that are rotated together lie side by side. */
  readonly isInterleaved?: boolean;
  /** Projections that may have biases; none if left out. */
  readonly biases?: "all" | "qkv";
  /** Llama 3.1's scaling of the rotation may be there, as factors. */
  readonly hasFactors?: boolean;
  /** A part of a head may be rotated. */
  readonly hasParts?: boolean;
  /** LongRoPE's factors may be there. */
  readonly hasLongFactors?: boolean;
  /** Heads are parts of the model's width: D = C / H. */
  readonly cutsWidth?: boolean;
  /** Modules of a layer by names that mean others elsewhere. */
  readonly modules?: Readonly<Record<string, string>>;
  /** Tensors of a layer that are no module's weight or bias. */
  readonly tensors?: Readonly<Record<string, string>>;
  /** There are keys for what the family multiplies by. */
  readonly hasScales?: boolean;
  /** Norms have 1 added to their weights. */
  readonly addsOne?: boolean;
  /** The head is the embedding, which readers take for it. */
  readonly isTied?: boolean;
  /** There are keys for what scores and logits are capped at, and readers cap both. */
  readonly hasCaps?: boolean;
  /** In the model of so many layers queries are scaled by C / H, in the others by D; no key says it. */
  readonly scaledByWidth?: number;
  /** Layers without key and value heads convolve. */
  readonly convolves?: boolean;
  /**
   * Layers have a DeltaNet but every nth, and readers give its keys and values heads of one size. There may be layers
   * besides that guess the token after the next one.
   */
  readonly hasDelta?: boolean;
  readonly experts?: GgufExperts;
  /** Readers ask for a head of its own. */
  readonly isUntied?: boolean;
  /** Readers take as many key and value heads as there are of queries. */
  readonly takesOneKeyPerQuery?: boolean;
  /** Every nth layer is of another kind than the others, which no key says. */
  readonly every?: { readonly nth: number; is(kind: LayerKind): boolean };
}
