import { useState } from "preact/hooks";
import { addressOf, follow } from "../live/route.ts";

const SCREENS: readonly [string, string][] = [
  ["run", "Runs"],
  ["start", "New run"],
  ["models", "Models"],
  ["verify", "Verify"],
  ["bench", "Benchmarks"],
  ["api", "API"],
];

export function Header({ screen }: { screen: string }) {
  return (
    <header class="top">
      <span class="brand">
        <img src="/page/icon.svg" alt="" width={24} height={24} />
        <span class="brand-name">tango</span>
      </span>
      <nav aria-label="Page">
        {SCREENS.map(([name, label]) => (
          <a
            href={addressOf({ screen: name })}
            aria-current={name === screen ? "page" : undefined}
            onClick={(event) => follow(event, { screen: name })}
          >
            {label}
          </a>
        ))}
      </nav>
      <ThemeButton />
    </header>
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
  return (
    <button type="button" class="plain" onClick={change} title="Light, dark, or as the system">
      <span aria-hidden="true">◐</span>
      <span class="unseen">Colours:</span> <span class="theme-name">{theme}</span>
    </button>
  );
}
