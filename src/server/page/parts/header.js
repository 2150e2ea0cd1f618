import { h, useState } from "../vendor.js";
import { addressOf, follow } from "../live/route.js";

/** @type {readonly [string, string][]} */
const SCREENS = [
  ["run", "Runs"],
  ["start", "New run"],
  ["models", "Models"],
  ["verify", "Verify"],
  ["bench", "Benchmarks"],
  ["api", "API"],
];

/**
 * @param {{ screen: string }} props
 */
export function Header({ screen }) {
  return h(
    "header",
    { class: "top" },
    h(
      "span",
      { class: "brand" },
      h("img", { src: "/page/icon.svg", alt: "", width: 24, height: 24 }),
      h("span", { class: "brand-name" }, "tango"),
    ),
    h(
      "nav",
      { "aria-label": "Page" },
      SCREENS.map(([name, label]) =>
        h("a", {
          href: addressOf({ screen: name }),
          "aria-current": name === screen ? "page" : undefined,
          onClick: (/** @type {MouseEvent} */ event) => follow(event, { screen: name }),
        }, label)
      ),
    ),
    h(ThemeButton, null),
  );
}

const NEXT = { auto: "light", light: "dark", dark: "auto" };

function ThemeButton() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "auto");
  const change = () => {
    const next = Reflect.get(NEXT, theme) ?? "auto";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
    setTheme(next);
    dispatchEvent(new Event("themechange"));
  };
  return h(
    "button",
    { type: "button", class: "plain", onClick: change, title: "Light, dark, or as the system" },
    h("span", { "aria-hidden": "true" }, "◐"),
    h("span", { class: "unseen" }, "Colours: "),
    h("span", { class: "theme-name" }, theme),
  );
}
