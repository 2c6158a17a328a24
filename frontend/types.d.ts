// What the JavaScript of ptxlab/lab/static and of this folder takes for given, for tsc.

/** A widget's model as anywidget gives it to the page; its traits are those of the Python class. */
type Model = Omit<import("@anywidget/types").AnyModel, "send"> & { send(message: Message): void };

/** The parts of the answers that have come. */
type Answers = ReturnType<typeof import("../ptxlab/lab/static/answers.js").makeAnswers>;

interface Window {
  /** Whether `keys.js` listens on this page already. */
  ptxlabKeepsKeys?: boolean;
}

declare const process: { argv: string[] };
declare module "node:*";
declare module "@jupyterlab/*";
