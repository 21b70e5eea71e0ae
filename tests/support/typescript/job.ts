// Submits a job, follows it to its end, and reads its output; then handles a problem.
// The types of every path, parameter and answer come from /openapi.json (api.d.ts).
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [, , baseUrl, key] = process.argv;
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

function show(problem: components["schemas"]["Problem"]): string {
  return `${problem.status} ${problem.title}`;
}

async function output(id: string): Promise<string> {
  const path = { job_id: id };
  const { data, error } = await client.GET("/jobs/{job_id}/events", { params: { path, query: { format: "json" } } });
  if (error) throw new Error(show(error));
  if (!data || typeof data === "string") throw new Error("not a list of events");
  const texts = data.events.map((event) => (event.kind === "run_finished" ? event.data.stdout.text : ""));
  return texts.join("");
}

const { data: receipt, error: refusal } = await client.POST("/jobs", {
  body: { task: "once", model: "recording:once" },
});
if (refusal) throw new Error(show(refusal));
const params = { path: { job_id: receipt.id } };
let status: components["schemas"]["Status"] = receipt.status;
while (status === "queued" || status === "running") {
  const { data: job, error } = await client.GET("/jobs/{job_id}", { params });
  if (error) throw new Error(show(error));
  status = job.status;
  await new Promise((resume) => setTimeout(resume, 50));
}
console.log(JSON.stringify({ status, output: await output(receipt.id) }));

const { error: problem } = await client.GET("/jobs/{job_id}", { params: { path: { job_id: "0".repeat(20) } } });
if (problem) console.log(JSON.stringify(problem));
