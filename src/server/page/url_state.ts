/** What the page shows is in its address, so that a reload, a bookmark or a colleague sees the same. */

import { TOKEN_COLOURS, type TokenColour } from "./samples/token_shades.ts";

export interface PageState {
  /** One of SCREENS. */
  readonly screen: string;
  /** One of VIEWS: what is shown of a run. */
  readonly view: string;
  /** The run shown, and those compared with it. */
  readonly runs: string[];
  /** Steps that each point of a curve is the mean of. */
  readonly smoothing: number;
  /** First step shown. */
  readonly from: number | null;
  /** Last step shown. */
  readonly to: number | null;
  /** Of samples; "" for all. */
  readonly filter: string;
  /** Of samples. */
  readonly step: number | null;
  /** The problem whose samples are shown; "" for all. */
  readonly group: string;
  /** Of samples, from 1. */
  readonly page: number;
  /** Of steps: "judgment" or "advantage". */
  readonly colour: string;
  /** What tokens are coloured by. */
  readonly tokens: TokenColour;
  /** To start from. */
  readonly preset: string;
  /** A curve that is not among the usual ones. */
  readonly more: string;
  /** The benchmark shown; "" for the newest. */
  readonly bench: string;
  /** The benchmark beside it; "" for none. */
  readonly earlier: string;
}

export const SCREENS = ["run", "start", "models", "verify", "bench", "api"];
export const VIEWS = [
  "curves",
  "runs",
  "samples",
  "verifier",
  "timeline",
  "memory",
  "settings",
  "checkpoints",
  "events",
];
export const FILTERS = ["", "disagrees", "longest", "cut-off", "bad-format"];

export const DEFAULTS: Readonly<PageState> = Object.freeze({
  screen: "run",
  view: "curves",
  runs: [],
  smoothing: 1,
  from: null,
  to: null,
  filter: "",
  step: null,
  group: "",
  page: 1,
  colour: "judgment",
  tokens: "",
  preset: "",
  more: "",
  bench: "",
  earlier: "",
});

/**
 * Reads an address; what it does not say, or says wrongly, is the default.
 *
 * @param search the address from its question mark on
 */
export function readState(search: string): PageState {
  const query = new URLSearchParams(search);
  const word = <Word extends string>(name: string, allowed: readonly Word[], otherwise: Word) => {
    const value = query.get(name);
    return allowed.find((one) => one === value) ?? otherwise;
  };
  const whole = (name: string, minimum: number) => {
    const value = query.get(name);
    if (value === null || !/^\d{1,9}$/.test(value)) return null;
    return Math.max(minimum, Number(value));
  };
  return {
    screen: word("screen", SCREENS, DEFAULTS.screen),
    view: word("view", VIEWS, DEFAULTS.view),
    runs: [...new Set(query.getAll("run"))].filter((id) => id !== "").slice(0, 4),
    smoothing: Math.min(101, whole("smoothing", 1) ?? DEFAULTS.smoothing),
    from: whole("from", 0),
    to: whole("to", 0),
    filter: word("filter", FILTERS, DEFAULTS.filter),
    step: whole("step", 0),
    group: query.get("group") ?? DEFAULTS.group,
    page: whole("page", 1) ?? DEFAULTS.page,
    colour: word("colour", ["judgment", "advantage"], DEFAULTS.colour),
    tokens: word("tokens", TOKEN_COLOURS, DEFAULTS.tokens),
    preset: query.get("preset") ?? DEFAULTS.preset,
    more: query.get("more") ?? DEFAULTS.more,
    bench: query.get("bench") ?? DEFAULTS.bench,
    earlier: query.get("earlier") ?? DEFAULTS.earlier,
  };
}

/**
 * Writes an address: only what is not the default.
 *
 * @returns "/" or from the question mark on
 */
export function writeState(state: PageState): string {
  const query = new URLSearchParams();
  for (const id of state.runs) query.append("run", id);
  for (const [name, otherwise] of Object.entries(DEFAULTS)) {
    if (name === "runs") continue;
    const value = Reflect.get(state, name);
    if (value !== otherwise && value !== null) query.set(name, String(value));
  }
  const text = query.toString();
  return text === "" ? "/" : `?${text}`;
}
