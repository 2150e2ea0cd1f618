/** Where the page begins. */

import { render } from "preact";
import { App } from "./app.tsx";

const root = document.getElementById("page");
if (root === null) throw new Error("index.html has no element #page");
render(<App />, root);
