/** The page's state in its address, for all parts of the page. */

import { useEffect, useState } from "preact/hooks";
import { type PageState, readState, writeState } from "../url_state.ts";

const listeners = new Set<() => void>();
addEventListener("popstate", tell);

function tell() {
  for (const listener of [...listeners]) listener();
}

/** Changes the address. With `replace` going back skips what was before, as while dragging. */
export function go(changes: Partial<PageState>, { replace = false } = {}) {
  const target = addressOf(changes);
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  tell();
}

/** The address with something changed, for links. */
export function addressOf(changes: Partial<PageState>) {
  return writeState({ ...readState(location.search), ...changes });
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
