// A service that answers each request from a new buffer, or with `well` from one that it keeps.
const well = process.argv[2] === "well";
const kept = Buffer.alloc(32 << 20);

function answer() {
  const buffer = well ? kept : Buffer.alloc(32 << 20);
  for (let at = 0; at < buffer.length; at += 4096) buffer[at] = 1;
  setTimeout(answer, 10);
}

answer();
