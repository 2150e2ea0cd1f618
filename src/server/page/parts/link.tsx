import type { AnchorHTMLAttributes } from "preact";
import { addressOf, go } from "../live/route.ts";
import type { PageState } from "../url_state.ts";

/** A link to something else of the page, which is not loaded again for it. */
export function Link(
  { to, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { to: Partial<PageState> },
) {
  const follow = (event: MouseEvent) => {
    // Other buttons and keys do what they do with any link.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return <a {...rest} href={addressOf(to)} onClick={follow} />;
}
