// Plans bags by `spotbag serve` from Node, loses a VM each second, and plans anew: how long that takes, there and back.
//
//     node examples/serve.mjs [tasks ...]

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

class Spotbag {
  constructor() {
    this.waiting = new Map();
    this.last = 0;
    this.process = spawn("spotbag", ["serve"], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: this.process.stdout }).on("line", (line) => this.receive(JSON.parse(line)));
    for (const event of ["error", "exit"]) this.process.on(event, (cause) => this.fail(`spotbag: ${cause}`));
  }

  // The result of a method; `signal` cancels it, and then the result is the best so far.
  ask(method, params = {}, { signal, onProgress } = {}) {
    const id = ++this.last;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, onProgress });
      this.send({ id, method, params });
      signal?.addEventListener("abort", () => this.send({ method: "cancel", params: { id } }));
    });
  }

  send(message) {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  receive({ id, method, params, result, error }) {
    if (method === "progress") return this.waiting.get(params.id)?.onProgress?.(params);
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) reject(new Error(`${error.code}: ${error.message}`));
    else resolve(result);
  }

  fail(text) {
    for (const { reject } of this.waiting.values()) reject(new Error(text));
    this.waiting.clear();
  }
}

function makeBag(size) {
  const offers = { spot: { price_usd_per_hour: 0.03, limit: 40 }, "on-demand": { price_usd_per_hour: 0.09, limit: 40 } };
  const type = (name, vcpus, memory_mb) => ({ name, vcpus, memory_mb, offers });
  const tasks = Array.from({ length: size }, (_, n) => {
    const seconds = 60 + ((n * 7919) % 541);
    return { id: `part-${n}`, memory_mb: 400, runtime_s: { small: seconds, large: Math.ceil(0.8 * seconds) } };
  });
  const vm_types = [type("small", 2, 4000), type("large", 8, 16000)];
  return { format: "spotbag.instance/1", name: `parts-${size}`, deadline_s: 7200, d_spot_s: 5400, vm_types, tasks };
}

async function roundTrips(spotbag, size, steps) {
  const bag = `parts-${size}`;
  await spotbag.ask("solve", { bag: makeBag(size), method: "search", time_limit_s: 1, survive: "none" });
  await spotbag.ask("advance", { bag, follow: true });
  const { plan } = await spotbag.ask("replan", { bag, time_limit_s: 0.05 });
  let vms = plan.vms;
  const took = [];
  for (let step = 1; step <= steps; step++) {
    const lost = vms[step % vms.length].id;
    await spotbag.ask("advance", { bag, time_s: step, follow: true, events: [{ event: "VmEnded", vm: lost }] });
    const begin = performance.now();
    const again = await spotbag.ask("replan", { bag, time_limit_s: 0.05 });
    took.push(performance.now() - begin);
    if (again.status !== "feasible" && again.status !== "optimal") throw new Error(again.message);
    vms = again.plan.vms;
  }
  const { status } = await spotbag.ask("check", { bag });
  if (status !== "feasible") throw new Error(status);
  took.sort((a, b) => a - b);
  return took;
}

const spotbag = new Spotbag();
await spotbag.ask("initialize", { warm: true });
console.log("tasks   median (ms)   95th percentile (ms)");
for (const size of process.argv.length > 2 ? process.argv.slice(2).map(Number) : [60, 300, 2000]) {
  const took = await roundTrips(spotbag, size, 200);
  const percentile = (share) => took[Math.floor(share * (took.length - 1))].toFixed(1);
  console.log(`${String(size).padStart(5)}   ${percentile(0.5).padStart(11)}   ${percentile(0.95).padStart(20)}`);
}
await spotbag.ask("shutdown");
