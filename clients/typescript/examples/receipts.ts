// Sends receipts: `node receipts.js work` in one terminal, `node receipts.js send 7` in another.

import { Client, Dead, Snooze, Worker } from "longshore-client";

const client = new Client(process.env.LONGSHORE_URL ?? "", process.env.LONGSHORE_TOKEN);
const worker = new Worker(client, { queues: { default: 4 }, name: "receipts", logger: console });

worker.handle<{ order: number }>("send_receipt", async (run) => {
  const { order } = run.payload;
  if (order < 0) throw new Dead(`there is no order ${order}`); // no further attempt
  if (order === 0 && run.attempt === 1) return new Snooze(30_000); // not ready yet: again in 30 s
  run.progress(0.5, "written");
  await run.sleep(10); // `run.signal` goes to fetch and the like; all end if somebody cancels the job
  run.log("sent", { fields: { order } });
  return { sent: order }; // the job's output
});

const [what, order] = process.argv.slice(2);
if (what === "send") {
  const job = await client.enqueue("send_receipt", { order: Number(order) }, { timeout: "1m" });
  console.log((await client.wait(job.id, { timeout: 30_000 })).output);
} else {
  await worker.run(); // until SIGTERM or ctrl-C
  process.exit(); // even if a handler goes on that heeds no signal
}
