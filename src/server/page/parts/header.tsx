import { useState } from "preact/hooks";
import { EMPTY_FORM, type PageState, SCREENS } from "../url_state.ts";
import { Link } from "./link.tsx";

export function Header({ screen }: { screen: PageState["screen"] }) {
  return (
    <header class="top">
      <span class="brand">
        <img src="/page/icon.svg" alt="" width={24} height={24} />
        <span class="brand-name">tango</span>
      </span>
      <nav aria-label="Page">
        {(Object.keys(SCREENS) as PageState["screen"][]).map((name) => (
          <Link
            key={name}
            to={{ screen: name, ...EMPTY_FORM }}
            aria-current={name === screen ? "page" : undefined}
          >
            {SCREENS[name]}
          </Link>
        ))}
      </nav>
      <ThemeButton />
    </header>
  );
}

const NEXT: Readonly<Record<string, string>> = { auto: "light", light: "dark", dark: "auto" };

function ThemeButton() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? "auto");
  const change = () => {
    const next = NEXT[theme] ?? "auto";
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
