/** Where the page begins. */

import { h, render } from "./vendor.js";
import { App } from "./app.js";

const root = document.getElementById("page");
if (root === null) throw new Error("index.html has no element #page");
render(h(App, null), root);
