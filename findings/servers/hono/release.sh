# Downloads one version of Hono into this folder, and one version of the adapter by which Node serves it.
set -e
printf '{"type": "module"}\n' >package.json
npm install --silent --no-audit --no-fund --no-package-lock --omit peer --legacy-peer-deps \
    "hono@$1" @hono/node-server@1.13.7 >&2
rm node_modules/.package-lock.json
