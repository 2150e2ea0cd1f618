/** The page's state in its address, for all parts of the page. */

import { useEffect, useState } from "preact/hooks";
import { type PageState, readState, writeState } from "../url_state.ts";

const listeners: Set<() => void> = new Set();
addEventListener("popstate", tell);

function tell() {
  for (const listener of [...listeners]) listener();
}

/**
 * Changes the address.
 *
 * @param options replace: going back skips what was before, as while dragging
 */
export function go(changes: Partial<PageState>, { replace = false }: { replace?: boolean } = {}) {
  const target = addressOf(changes);
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  tell();
}

/** The address with something changed, for links. */
export function addressOf(changes: Partial<PageState>) {
  return writeState({ ...readState(location.search), ...changes });
}

/**
 * What a link does when it is followed here: nothing is loaded again. Other buttons and keys do what they
 * do with any link.
 */
export function follow(event: MouseEvent, changes: Partial<PageState>) {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(changes);
}

export function useRoute(): PageState {
  const [search, setSearch] = useState(location.search);
  useEffect(() => {
    const listener = () => setSearch(location.search);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return readState(search);
}
