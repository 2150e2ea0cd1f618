/** The page's state in its address, for all parts of the page. */

import { useEffect, useState } from "../vendor.js";
import { readState, writeState } from "../url_state.js";

/** @import { PageState } from "../url_state.js" */

/** @type {Set<() => void>} */
const listeners = new Set();
addEventListener("popstate", tell);

function tell() {
  for (const listener of [...listeners]) listener();
}

/**
 * Changes the address.
 *
 * @param {Partial<PageState>} changes
 * @param {{ replace?: boolean }} [options] replace: going back skips what was before, as while dragging
 */
export function go(changes, { replace = false } = {}) {
  const target = addressOf(changes);
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  tell();
}

/**
 * The address with something changed, for links.
 *
 * @param {Partial<PageState>} changes
 */
export function addressOf(changes) {
  return writeState({ ...readState(location.search), ...changes });
}

/**
 * What a link does when it is followed here: nothing is loaded again. Other buttons and keys do what they
 * do with any link.
 *
 * @param {MouseEvent} event
 * @param {Partial<PageState>} changes
 */
export function follow(event, changes) {
  if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  go(changes);
}

/** @returns {PageState} */
export function useRoute() {
  const [search, setSearch] = useState(location.search);
  useEffect(() => {
    const listener = () => setSearch(location.search);
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return readState(search);
}
