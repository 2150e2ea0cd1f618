import { useEffect, useRef } from "preact/hooks";
import { shortDuration } from "../format.ts";
import { go, useRoute } from "../live/route.ts";
import { Link } from "../parts/link.tsx";
import { StateBadge } from "../parts/state_badge.tsx";
import { FindRuns } from "./find_runs.tsx";
import { isLooking, listedRuns } from "./listed_runs.ts";
import { describeSteps, hasBegun, progressOf } from "./states.ts";
import type { RunView } from "../../runs/run_view.ts";

const MOST_COMPARED = 4;

/** So many runs are seen at a glance; more of them, or tags, want a search. */
const SEEN_AT_ONCE = 8;

/** All runs, newest first: a link shows one, a tick lays it over the one shown. */
export function RunList({ runs, shown }: { runs: RunView[] | null; shown: string | null }) {
  const route = useRoute();
  const { screen } = route;
  const isHere = screen === "run";
  const all = runs ?? [];
  const listed = listedRuns(all, shown, route);
  const isOverlaid = all.find(({ id }) => id === shown)?.kind !== "compare";
  return (
    <nav class={isHere ? "runs" : "runs elsewhere"} aria-label="Runs">
      {(isLooking(route) || all.some(({ tags }) => tags.length > 0) ||
        all.filter(({ comparison }) => comparison === null).length > SEEN_AT_ONCE) &&
        <FindRuns runs={all} />}
      {all.length > 0 && listed.length === 0 && <p class="quiet">No such run.</p>}
      <ul>
        {listed.map((run) => (
          <Entry
            key={run.id}
            run={run}
            shown={shown}
            isShown={isHere && run.id === shown}
            canCompare={isHere && isOverlaid && run.id !== shown && run.kind !== "compare" &&
              hasBegun(run)}
          />
        ))}
      </ul>
    </nav>
  );
}

function Entry(
  { run, isShown, canCompare, shown }: {
    run: RunView;
    isShown: boolean;
    canCompare: boolean;
    shown: string | null;
  },
) {
  const compared = useRoute().runs.slice(1);
  const isCompared = compared.includes(run.id);
  const place = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isShown && place.current !== null) reveal(place.current);
  }, [isShown]);
  const compare = () => {
    const others = isCompared
      ? compared.filter((id) => id !== run.id)
      : [...compared, run.id].slice(-MOST_COMPARED + 1);
    go({ runs: [shown ?? run.id, ...others] });
  };
  return (
    <li
      class={`entry${isShown ? " shown" : ""}${run.comparison === null ? "" : " inner"}`}
      ref={place}
    >
      <Link
        to={{ screen: "run", runs: [run.id], page: 1 }}
        aria-current={isShown ? "true" : undefined}
      >
        <span class="name" title={run.id}>{run.id.slice(ownName(run))}</span>
        <StateBadge state={run.state} />
        <span class="detail">{describeProgress(run)}</span>
        {run.tags.length > 0 && (
          <span class="detail">
            {run.tags.map((tag) => <span class="tag" key={tag}>{tag}</span>)}
          </span>
        )}
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${progressOf(run) * 100}%` }} />
        </span>
      </Link>
      {canCompare && (
        <label class="compare">
          <input
            type="checkbox"
            checked={isCompared}
            onChange={compare}
          />
          compare <span class="unseen">{run.id}</span>
        </label>
      )}
    </li>
  );
}

/** Where the name begins that it has in its comparison, whose own stands above it. */
function ownName({ comparison }: RunView) {
  return comparison === null ? 0 : comparison.length + 1;
}

/** Scrolls the list, and not the page with it, so far that an entry is seen. */
function reveal(entry: HTMLElement) {
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

function describeProgress(run: RunView) {
  const { secondsLeft, kind, ranks } = run;
  const parts = [describeSteps(run)];
  if (secondsLeft !== null) parts.push(`${shortDuration(secondsLeft)} left`);
  if (kind !== "train") parts.push(kind);
  if (ranks > 1) parts.push(`${ranks} ranks`);
  return parts.join(" · ");
}
