// Answers with parameters, a header and JSON, through two pieces of middleware.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const from = createRequire(`${process.cwd()}/`);
const load = (name) => import(pathToFileURL(from.resolve(name)).href);
const { Hono } = await load("hono");
const { serve } = await load("@hono/node-server");

const app = new Hono();
app.use("*", async (context, next) => {
  await next();
  context.header("x-powered-by", "hono");
});
for (const kind of ["users", "books", "orders"]) app.get(`/${kind}/:id`, (context) => context.text(kind));
app.get("/items/:id", (context) =>
  context.json({ id: context.req.param("id"), page: context.req.query("page"), tags: ["a", "b", "c"] }),
);
serve({ fetch: app.fetch, port: Number(process.argv[2]), hostname: "127.0.0.1" });
