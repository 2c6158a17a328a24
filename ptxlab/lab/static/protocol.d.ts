// The types of ptxlab/lab/protocol.py, written by frontend/protocol.py.

interface Part {
  seq?: number;
}

interface Explained {
  says: string;
  syntax: string;
  parts: [string, string][];
  operands: [string, string][];
  terms: [string, string][];
  since: string;
}

interface Source {
  files: [number, string][];
  language: string;
  lines: string[];
  numbers: number[];
}

interface Rung {
  name: string;
  title: string;
}

interface Lesson {
  question: string;
  look: string;
  line: number;
  next: Rung | null;
  conflicts: Rung | null;
  row: number;
}

interface Code {
  seq?: number;
  title: string;
  of: string;
  name: string;
  arch: string;
  seconds: number;
  instructions: number;
  ptx: string[];
  python: Source | null;
  links: [number, number][];
  docs: Record<string, Explained>;
  words: Record<string, string>;
  registers: Record<string, string>;
  roles: Record<string, string>;
  fields: Record<string, any>;
  touched: [number, string][];
  stores: [number, number, number][];
  lesson: Lesson | null;
}

interface Base {
  seq?: number;
  ptx: string[];
  python: Record<"lines" | "numbers" | "files", any> | null;
  links: [number, number][];
}

interface Compared {
  summary: string;
  rows: any[][];
  renamed?: number;
}

interface Diff {
  seq?: number;
  summary: string;
  rows: any[][];
  renamed?: number;
  title: string;
  against: string;
  declarations: number;
  python: Compared | null;
}

interface SassDiff {
  seq?: number;
  summary: string;
  rows: any[][];
  renamed?: number;
  old: string[];
}

interface Sass {
  seq?: number;
  state: "ok" | "missing";
  note?: string;
  arch?: string;
  lines?: string[];
  links?: [number, number][];
  docs?: Record<string, string>;
  instructions?: number;
}

interface Occupancy {
  percent: number;
  limiter: string;
  text: string;
  blocks: number;
  warps: number;
  most: number;
  threads: number;
  limits: [string, number][];
}

interface Assembly {
  seq?: number;
  state: "ok" | "missing" | "error";
  note?: string;
  arch?: string;
  registers?: number;
  spill_bytes?: number;
  shared_bytes?: number;
  seconds?: number;
  occupancy?: Occupancy | null;
}

interface Counted {
  opcodes: Record<string, number>;
  pipes: Record<string, number>;
  rows: Record<string, number>;
}

interface Measure {
  key: string;
  label: string;
  now: string | null;
  before: string | null;
  verdict: "better" | "worse" | "";
  note: string;
  says: string;
  mood: string;
  page: string;
}

interface Measures {
  seq?: number;
  title: string;
  moved: [string, string, string][];
  work: number;
  list: Measure[];
  counted: Counted | null;
}

interface Judged {
  ok: boolean;
  max: number | string;
  mean: number | string;
  ulp: number | string;
  tolerance: number | string;
  lse: number | string;
}

interface Way {
  label: string;
  against: string;
  note: string;
  max: number | string | null;
  mean: number | string | null;
  ulp: number | string | null;
}

interface ErrorMap {
  rows: number;
  cols: number;
  step: [number, number];
  seq: number;
  dim: number;
  row: number;
  label: string;
  row_name: string;
  size: number;
  worst: ([number, number, number | string, number | string])[];
  values: DataView;
  absolute: DataView;
}

interface CounterRow {
  name: string;
  value: number;
  unit: string;
  origin: "counted" | "modelled" | "measured";
  says: string;
  ideal: number | null;
}

interface Counters {
  instructions: Record<"warps" | "threads", number>;
  opcodes: [string, number, number][];
  pipes: [string, number, string][];
  memory: CounterRow[];
  work: CounterRow[];
  lines: [number, string, number, number, number, number, string][];
}

interface Point {
  origin: string;
  what: string;
  x: number;
  y: number;
  bound: string;
}

interface Roofline {
  note?: string;
  gpu?: string;
  source?: string;
  bandwidth?: number;
  roofs?: [string, number][];
  own?: [string, number] | null;
  points?: Point[];
}

interface TileKinds {
  rows: number;
  keys: number;
  lines: string[];
}

interface Tiles {
  rows: number;
  keys: number;
  tile_q: number;
  tile_kv: number;
  causal: boolean;
  kinds: TileKinds | null;
  row_name: string;
}

interface Party {
  line: number;
  source: string;
  from: string;
  block: number;
  warp: number;
  lane: number;
  did: string;
  step?: number | null;
}

interface Finding {
  check: string;
  message: string;
  more: string;
  parties: Party[];
}

interface Run {
  seq?: number;
  note?: string;
  heat: [number, number][];
  error: Judged | null;
  map: ErrorMap | null;
  ways: Way[];
  tiles: Tiles | null;
  device?: string;
  seconds?: number;
  thread_instructions?: number | null;
  findings?: Finding[];
  checks?: any;
  counters?: Counters | null;
  roofline?: Roofline | null;
  arrays?: [string, string][];
  cached?: boolean;
}

interface Output {
  tiles: number[];
  columns: number[];
  scale: number;
  values: number[][];
}

interface State {
  seq?: number;
  label: string;
  tiles: number;
  tile_kv: number;
  unit: string;
  row: number;
  note?: string;
  kernel?: Record<"m" | "l" | "rescale", (number | null)[]>;
  before?: Record<"m" | "l" | "rescale", (number | null)[]> | null;
  numpy?: Record<"m" | "l" | "rescale", (number | null)[]>;
  makers?: Record<string, number[]>;
  scores?: ([number, number | null])[];
  output?: Output;
  parts?: boolean;
  merged?: Record<"m" | "l" | "numpy_m" | "numpy_l", number | null>;
}

interface Problem {
  seq?: number;
  title: string;
  message: string;
  line: number;
  python_line: number | null;
  block: [number, number, number] | null;
  thread: [number, number, number] | null;
}

interface Status {
  seq?: number;
  state: "building" | "running" | "done" | "failed" | "cancelled" | "asking" | "saved";
  text: string;
  busy: boolean;
  failed?: boolean;
  times?: Record<string, number>;
  done?: number;
  blocks?: number;
  seconds?: number;
  estimate?: number | null;
}

interface Control {
  name: string;
  label: string;
  kind: "check" | "choice" | "number" | "powers" | "size" | "slider" | "text";
  says: string;
  group: string;
  options?: [string, any][];
  min?: number;
  max?: number;
  step?: number;
}

interface Values {
  seq?: number;
  given: Record<string, any>;
  notes: Record<string, string>;
  unused: string[];
}

interface Below {
  heading: string;
  close: string;
  note: string;
  whole: boolean;
  asks: boolean;
}

interface Parts {
  code: Code;
  base: Base;
  diff: Diff;
  assembly: Assembly;
  measures: Measures;
  run: Run;
  state: State;
  sass: Sass;
  sass_diff: SassDiff;
  problem: Problem;
  status: Status;
}

interface Act {
  kind: "pin" | "confirm" | "cancel" | "again" | "undo" | "share" | "close" | "discard" | "keep";
}

interface Edit {
  kind: "edit";
  line: number | null;
}

interface Next {
  kind: "next";
  kernel: string;
}

interface Debug {
  kind: "debug";
  line?: number;
  nth?: number;
  of?: number;
  finding?: number;
  party?: number;
}

interface Given {
  kind: "set";
  seq: number;
  values: Record<string, any>;
}

type Message = Act | Edit | Next | Debug | Given;
