import { pageTokens } from "../../kernels/attention/attention_shape.ts";
import { kindOf, type ModelConfig } from "../../model/decoder/config.ts";

/**
 * How far back some layers of a model look. Layers of one reach keep what they keep of a token on pages of the same number,
 * apart from those of other reaches, and a page is kept as long as one of them may look at it.
 */
export interface Reach {
  /** Tokens that a token sees, itself the last; null for all before it, whatever layers keep of them. */
  readonly window: number | null;
}

/** A window that no sequence outgrows is none. */
function windowOf(config: ModelConfig, layer: number): number | null {
  const { window } = kindOf(config, layer);
  return window === null || window >= config.maxPositions ? null : window;
}

const layersOf = ({ layers }: ModelConfig) => Array.from({ length: layers }, (_, layer) => layer);

/** The reaches of a model's layers, at least one, the longest first. */
export function reachesOf(config: ModelConfig): Reach[] {
  const windows = new Set(layersOf(config).map((layer) => windowOf(config, layer)));
  return [...windows]
    .sort((a, b) => (b ?? Infinity) - (a ?? Infinity))
    .map((window) => ({ window }));
}

/** Which of `reachesOf` each layer has. */
export function reachOfLayers(config: ModelConfig): number[] {
  const windows = reachesOf(config).map(({ window }) => window);
  return layersOf(config).map((layer) => windows.indexOf(windowOf(config, layer)));
}

/** The first page that a token at a position, or any after it, looks at. */
export function firstPageSeen({ window }: Reach, position: number): number {
  return window === null ? 0 : Math.floor(Math.max(0, position + 1 - window) / pageTokens);
}

/**
 * The most pages that a sequence holds while `steps` tokens of it are decoded: those of the window of the first of them,
 * and of the tokens, wherever on a page they begin.
 */
export function mostPagesHeld({ window }: Reach, steps: number): number {
  return window === null ? Infinity : Math.ceil((window + steps - 1) / pageTokens) + 1;
}
