/** Talking with a model of the visitor's in a real browser, beside `./tango chat`. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT_FOLDER } from "../../src/cli/dev/project.ts";
import { chattingRun } from "../cli/chatting_run.ts";
import { withFolder } from "../server/written_run.ts";
import { axeViolations, CHROMIUM, WITHOUT_CHROMIUM } from "../server/page/chromium.ts";
import { withPage } from "../server/page/with_page.ts";
import { writeChattingGguf } from "../model/weights/fixture_gguf.ts";
import { smollm2File } from "../model/smollm2_file.ts";
import { openOnPage, saidByCommand, saidByPage } from "./said.ts";
import { PATIENCE, SWIFTSHADER, WEBGPU } from "./webgpu_browser.ts";
import { exists } from "../../src/platform/files/atomic_file.ts";

Deno.test({
  name: `tab: a model of the visitor's says what ./tango chat says${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null || !exists(SWIFTSHADER),
  fn: () =>
    withFolder((folder) =>
      withPage({ at: "browser/model.html", args: WEBGPU, width: 360 }, async (page) => {
        const alert = page.getByRole("alert");
        await page.getByLabel("Model").setInputFiles([join(PROJECT_FOLDER, "README.md")]);
        await alert.waitFor(PATIENCE);
        assert.match(await alert.innerText(), /^Expected a \.gguf file, .* Found README\.md\.$/);

        const { generator } = chattingRun(folder);
        const files = [...Deno.readDirSync(generator)].map(({ name }) => join(generator, name));
        await openOnPage(page, files);
        const reply = await saidByPage(page, "cat dog");
        assert.match(reply, /cat:t/);
        assert.equal(reply, await saidByCommand(generator, "cat dog"));
        assert.deepEqual(await axeViolations(page), []);
        assert.equal(await page.evaluate("document.documentElement.scrollWidth"), 360);

        const file = writeChattingGguf(folder);
        await openOnPage(page, [file]);
        const continued = await saidByPage(page, "abc");
        assert.notEqual(continued, "");
        assert.equal(continued, await saidByCommand(file, "abc"));
      })
    ),
});

const smollm2 = await smollm2File();

Deno.test({
  name: `tab: SmolLM2's file says what ./tango chat says${WITHOUT_CHROMIUM}`,
  ignore: CHROMIUM === null || !exists(SWIFTSHADER) || smollm2 === null,
  fn: () =>
    withPage({ at: "browser/model.html", args: WEBGPU }, async (page) => {
      assert(smollm2);
      const text = "What is the capital of France?";
      const [reply, said] = await Promise.all([
        openOnPage(page, [smollm2]).then(() => saidByPage(page, text)),
        saidByCommand(smollm2, text),
      ]);
      assert.match(reply, /Paris/);
      assert.equal(reply, said);
    }),
});
