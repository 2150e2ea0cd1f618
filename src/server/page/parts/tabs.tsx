import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { go } from "../live/route.ts";
import { type PageState, VIEWS } from "../url_state.ts";
import { Guarded } from "./guarded.tsx";

type View = PageState["view"];

/** Tabs by the pattern that screen readers know, where arrow keys move, Home and End go to the ends; and what is chosen. */
export function Tabs(
  { label, view, views }: {
    label: string;
    view: View;
    /** Makes each of them. */
    views: Partial<Record<View, () => ComponentChildren>>;
  },
) {
  const names = Object.keys(views) as View[];
  // A comparison has a view that its runs have not.
  const place = Math.max(0, names.indexOf(view));
  const chosen = names[place];
  const choose = (name: View) => go({ view: name, page: 1 });
  const onKey = (event: TargetedKeyboardEvent<HTMLElement>) => {
    const last = names.length - 1;
    const next = {
      ArrowRight: place === last ? 0 : place + 1,
      ArrowLeft: place === 0 ? last : place - 1,
      Home: 0,
      End: last,
    }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(names[next]);
    document.getElementById(`tab-${names[next]}`)?.focus();
  };
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={onKey}>
        {names.map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={name === chosen}
            aria-controls="tab-panel"
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => choose(name)}
          >
            {VIEWS[name]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${chosen}`} tabIndex={0}>
        <Guarded key={chosen}>{views[chosen]?.()}</Guarded>
      </div>
    </>
  );
}
