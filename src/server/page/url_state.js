/** What the page shows is in its address, so that a reload, a bookmark or a colleague sees the same. */

import { TOKEN_COLOURS } from "./samples/token_shades.js";

/** @import { TokenColour } from "./samples/token_shades.js" */

/**
 * @typedef {object} PageState
 * @property {string} screen one of SCREENS
 * @property {string} view one of VIEWS: what is shown of a run
 * @property {string[]} runs the run shown, and those compared with it
 * @property {number} smoothing steps that each point of a curve is the mean of
 * @property {number | null} from first step shown
 * @property {number | null} to last step shown
 * @property {string} filter of samples; "" for all
 * @property {number | null} step of samples
 * @property {string} group the problem whose samples are shown; "" for all
 * @property {number} page of samples, from 1
 * @property {string} colour of steps: "judgment" or "advantage"
 * @property {TokenColour} tokens what tokens are coloured by
 * @property {string} preset to start from
 * @property {string} more a curve that is not among the usual ones
 * @property {string} bench the benchmark shown; "" for the newest
 * @property {string} earlier the benchmark beside it; "" for none
 */

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

/** @type {Readonly<PageState>} */
export const DEFAULTS = Object.freeze({
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
 * @param {string} search the address from its question mark on
 * @returns {PageState}
 */
export function readState(search) {
  const query = new URLSearchParams(search);
  /**
   * @template {string} Word
   * @param {string} name @param {readonly Word[]} allowed @param {Word} otherwise
   */
  const word = (name, allowed, otherwise) => {
    const value = query.get(name);
    return allowed.find((one) => one === value) ?? otherwise;
  };
  /** @param {string} name @param {number} minimum */
  const whole = (name, minimum) => {
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
 * @param {PageState} state
 * @returns {string} "/" or from the question mark on
 */
export function writeState(state) {
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
