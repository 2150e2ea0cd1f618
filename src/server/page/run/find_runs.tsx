import { go, useRoute } from "../live/route.ts";
import { Choice, noneOr, optionsOf } from "../parts/choice.tsx";
import { SORTS, STATES } from "../url_state.ts";
import { isLooking } from "./listed_runs.ts";
import type { RunView } from "../../runs/run_view.ts";

/** Fields that say which runs are listed, and in which order. */
export function FindRuns({ runs }: { runs: readonly RunView[] }) {
  const route = useRoute();
  const { wanted, tag, state, sort } = route;
  const look = (changes: Parameters<typeof go>[0]) => go(changes, { replace: true });
  const tags = [...new Set([...runs.flatMap((run) => run.tags), ...(tag === "" ? [] : [tag])])];
  return (
    <div class="find">
      <input
        type="search"
        aria-label="Only runs with"
        placeholder={`find in ${runs.length} runs`}
        value={wanted}
        onInput={({ currentTarget }) => look({ wanted: currentTarget.value })}
      />
      <details>
        <summary>
          Filter{(tag !== "" || state !== "") && <span class="badge warm">on</span>}
        </summary>
        <Choice
          class="field"
          label="State"
          value={state}
          options={optionsOf(STATES)}
          onChange={(state) => look({ state })}
        />
        <Choice
          class="field"
          label="Tag"
          value={tag}
          options={noneOr(tags.sort())}
          onChange={(tag) => look({ tag })}
        />
        <Choice
          class="field"
          label="Order"
          value={sort}
          options={optionsOf(SORTS)}
          onChange={(sort) => look({ sort })}
        />
        {isLooking(route) && (
          <button
            type="button"
            onClick={() => look({ wanted: "", tag: "", state: "" })}
          >
            Show all
          </button>
        )}
      </details>
    </div>
  );
}
