/** In place of the program: it ends at once, and judges all solutions alike. */

const [command] = Deno.args;
if (command === "verify") {
  console.log(JSON.stringify({ type: "judged", steps: [], stepJudgments: [], verdict: true }));
}
