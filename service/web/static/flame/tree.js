// Merges the stacks of one or two profiles into a tree, stored in columns. Node 0 is the root; callers precede callees.

const OFFSET = 0x811c9dc5, PRIME = 0x01000193; // FNV-1a, as service/web/rendering/profile_view.py has it
const ROOT = "all";

/**
 * The tree of one kind of stacks.
 *
 * @param {object[]} profiles one, or before and after
 * @param {string} kind "faults", "on_cpu", "off_cpu", "requested" or "returned"
 * @returns by node its `name`, `parent`, `first` callee, `next` of its caller's callees (-1: none), its `line` (0 where it
 *   has several), and for each profile its `values`; and the `names`.
 */
export function buildTree(profiles, kind) {
  const known = new Map();
  const names = [{ text: ROOT, module: "", file: "" }];
  const tree = { names, name: [0], parent: [-1], first: [-1], next: [-1], line: [0], values: profiles.map(() => [0]) };
  const places = new Places();
  profiles.forEach((profile, side) => {
    const frames = profile.frames ?? [], values = tree.values[side];
    const ids = frames.map((frame) => findNameId(frame, known, names)), lines = frames.map((frame) => frame.line ?? 0);
    for (const { frames: stack, weight } of profile[kind]?.stacks ?? []) {
      let at = 0;
      for (const place of stack) {
        const below = places.node(at, ids[place], tree.name.length);
        if (below === tree.name.length) addNode(tree, at, ids[place], lines[place]);
        else if (tree.line[below] !== lines[place]) tree.line[below] = 0;
        at = below;
      }
      values[at] += weight;
    }
  });
  for (const values of tree.values) {
    for (let node = values.length - 1; node > 0; node--) values[tree.parent[node]] += values[node];
  }
  return tree;
}

function findNameId(frame, known, names) {
  const module = (frame.module ?? "").split("/").pop();
  const key = `${frame.function}\0${module}`;
  let id = known.get(key);
  if (id === undefined) {
    id = names.length;
    known.set(key, id);
    names.push({ text: frame.function, module: frame.module ?? "", file: frame.file ?? "", key });
  }
  return id;
}

function addNode(tree, above, name, line) {
  tree.next.push(tree.first[above]);
  tree.first[above] = tree.name.length;
  tree.name.push(name);
  tree.parent.push(above);
  tree.first.push(-1);
  tree.line.push(line);
  for (const values of tree.values) values.push(0);
}

// Finds the node of a caller's callee by name: a hash table of integers, because a Map would take ten times as long.
class Places {
  #slots = new Int32Array(3 << 12).fill(-1); // caller, name, node
  #used = 0;

  node(caller, name, fresh) {
    if (this.#used * 6 > this.#slots.length) this.#widen();
    const slot = this.#slot(caller, name);
    if (this.#slots[slot] < 0) {
      this.#slots.set([caller, name, fresh], slot);
      this.#used++;
    }
    return this.#slots[slot + 2];
  }

  #slot(caller, name) {
    const size = this.#slots.length / 3;
    let at = (Math.imul(caller, 0x9e3779b1) ^ Math.imul(name, 0x85ebca6b)) >>> 0;
    for (at = (at ^ (at >>> 15)) & (size - 1); ; at = (at + 1) & (size - 1)) {
      const slot = 3 * at;
      if (this.#slots[slot] < 0 || (this.#slots[slot] === caller && this.#slots[slot + 1] === name)) return slot;
    }
  }

  #widen() {
    const old = this.#slots;
    this.#slots = new Int32Array(2 * old.length).fill(-1);
    for (let slot = 0; slot < old.length; slot += 3) {
      if (old[slot] >= 0) this.#slots.set(old.subarray(slot, slot + 3), this.#slot(old[slot], old[slot + 1]));
    }
  }
}

/** The nodes on the path from the root to a node. */
export function listPath(tree, node) {
  const found = [];
  for (let at = node; at >= 0; at = tree.parent[at]) found.unshift(at);
  return found;
}

/** The callees of a node that are at least as wide as `least`, the widest first. */
export function listCallees(tree, node, side, least) {
  const found = [];
  for (let at = tree.first[node]; at >= 0; at = tree.next[at]) {
    if (tree.values[side][at] > 0 && tree.values[side][at] >= least) found.push(at);
  }
  return found.sort((a, b) => tree.values[side][b] - tree.values[side][a] || a - b);
}

/** The functions whose names contain a text, and their common share of the whole. */
export function searchNames(tree, text, side) {
  const wanted = text.trim().toLowerCase();
  const hits = new Set();
  if (!wanted) return { hits, share: 0 };
  tree.names.forEach((name, id) => { if (id && name.text.toLowerCase().includes(wanted)) hits.add(id); });
  const within = new Uint8Array(tree.name.length);
  let sum = 0;
  for (let node = 1; node < within.length; node++) {
    within[node] = within[tree.parent[node]];
    if (within[node] || !hits.has(tree.name[node])) continue;
    within[node] = 1;
    sum += tree.values[side][node];
  }
  return { hits, share: sum / (tree.values[side][0] || 1) };
}

/** The key of a stack, which is the same in every profile that contains the stack. */
export function computeKey(tree, node) {
  return hashPath(tree, listPath(tree, node)).toString(16).padStart(8, "0");
}

/** The node with a key; -1 if there is none. */
export function findNode(tree, text) {
  const wanted = Number.parseInt(text, 16);
  const hashes = hashNames(tree), own = new Uint32Array(tree.name.length);
  own[0] = OFFSET;
  for (let node = 1; node < tree.name.length; node++) {
    own[node] = mixHash(own[tree.parent[node]], hashes[tree.name[node]]);
    if (own[node] === wanted) return node;
  }
  return -1;
}

function hashPath(tree, nodes) {
  const hashes = hashNames(tree);
  return nodes.slice(1).reduce((key, node) => mixHash(key, hashes[tree.name[node]]), OFFSET);
}

const mixHash = (key, hash) => Math.imul(key ^ hash, PRIME) >>> 0;

function hashNames(tree) {
  const encoder = new TextEncoder();
  tree.hashes ??= tree.names.map(({ key }) => encoder.encode(key ?? "").reduce((hash, byte) => mixHash(hash, byte), OFFSET));
  return tree.hashes;
}
