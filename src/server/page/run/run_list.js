import { h, useEffect, useRef, useState } from "../vendor.js";
import { formatDuration } from "../format.js";
import { addressOf, follow, go } from "../live/route.js";
import { StateBadge } from "../parts/state_badge.js";
import { listedRuns } from "./listed_runs.js";
import { describeSteps, hasBegun, progressOf } from "./states.js";

/**
 * @import { Run } from "../contract.ts"
 * @import { PageState } from "../url_state.js"
 */

const MOST_COMPARED = 4;

/** So many runs are seen at a glance; more of them want a search. */
const SEEN_AT_ONCE = 8;

/**
 * All runs, newest first: a link shows one, a tick lays it over the one shown.
 *
 * @param {{ runs: Run[] | null, route: PageState, shown: string | null }} props
 */
export function RunList({ runs, route, shown }) {
  const [wanted, setWanted] = useState("");
  const isHere = route.screen === "run";
  const all = runs ?? [];
  const listed = listedRuns(all, shown, wanted);
  const isOverlaid = all.find(({ id }) => id === shown)?.kind !== "compare";
  return h(
    "nav",
    { class: isHere ? "runs" : "runs elsewhere", "aria-label": "Runs" },
    all.filter(({ comparison }) => comparison === null).length <= SEEN_AT_ONCE ? null : h(
      "label",
      { class: "field search" },
      h("span", { class: "unseen" }, "Only runs with"),
      h("input", {
        type: "search",
        placeholder: `name, state or kind of ${all.length} runs`,
        value: wanted,
        onInput: (/** @type {Event & { currentTarget: HTMLInputElement }} */ { currentTarget }) =>
          setWanted(currentTarget.value),
      }),
    ),
    all.length > 0 && listed.length === 0 ? h("p", { class: "quiet" }, "No such run.") : null,
    h(
      "ul",
      null,
      listed.map((run) =>
        h(Entry, {
          ...{ key: run.id, run, route, shown },
          isShown: isHere && run.id === shown,
          canCompare: isHere && isOverlaid && run.id !== shown && run.kind !== "compare" &&
            hasBegun(run),
        })
      ),
    ),
  );
}

/**
 * @param {{ run: Run, route: PageState, isShown: boolean, canCompare: boolean, shown: string | null }} props
 */
function Entry({ run, route, isShown, canCompare, shown }) {
  const target = { screen: "run", runs: [run.id], page: 1 };
  const compared = route.runs.slice(1);
  const isCompared = compared.includes(run.id);
  const place = useRef(/** @type {HTMLLIElement | null} */ (null));
  useEffect(() => {
    if (isShown && place.current !== null) reveal(place.current);
  }, [isShown]);
  const compare = () => {
    const others = isCompared
      ? compared.filter((id) => id !== run.id)
      : [...compared, run.id].slice(-MOST_COMPARED + 1);
    go({ runs: [shown ?? run.id, ...others] });
  };
  return h(
    "li",
    {
      class: `entry${isShown ? " shown" : ""}${run.comparison === null ? "" : " inner"}`,
      ref: place,
    },
    h(
      "a",
      {
        href: addressOf(target),
        "aria-current": isShown ? "true" : undefined,
        onClick: (/** @type {MouseEvent} */ event) => follow(event, target),
      },
      h("span", { class: "name", title: run.id }, run.id.slice(ownName(run))),
      h(StateBadge, { state: run.state }),
      h("span", { class: "detail" }, describeProgress(run)),
      h(
        "span",
        { class: "bar", "aria-hidden": "true" },
        h("span", { style: { width: `${progressOf(run) * 100}%` } }),
      ),
    ),
    !canCompare ? null : h(
      "label",
      { class: "compare" },
      h("input", { type: "checkbox", checked: isCompared, onChange: compare }),
      "compare",
      h("span", { class: "unseen" }, ` ${run.id}`),
    ),
  );
}

/**
 * Where the name begins that it has in its comparison, whose own stands above it.
 *
 * @param {Run} run
 */
function ownName({ comparison }) {
  return comparison === null ? 0 : comparison.length + 1;
}

/**
 * Scrolls the list, and not the page with it, so far that an entry is seen.
 *
 * @param {HTMLElement} entry
 */
function reveal(entry) {
  for (let around = entry.parentElement; around !== null; around = around.parentElement) {
    const inner = entry.getBoundingClientRect();
    const outer = around.getBoundingClientRect();
    const bottom = Math.min(outer.bottom, innerHeight);
    if (inner.top < outer.top || inner.bottom > bottom) {
      around.scrollTop += inner.top - (outer.top + bottom - inner.height) / 2;
    }
    if (inner.left < outer.left || inner.right > outer.right) {
      around.scrollLeft += inner.left - outer.left;
    }
    if (around.tagName === "NAV") return;
  }
}

/** @param {Run} run */
function describeProgress(run) {
  const { secondsLeft, kind, ranks } = run;
  const parts = [describeSteps(run)];
  if (secondsLeft !== null) parts.push(`${formatDuration(secondsLeft)} left`);
  if (kind !== "train") parts.push(kind);
  if (ranks > 1) parts.push(`${ranks} ranks`);
  return parts.join(" · ");
}
