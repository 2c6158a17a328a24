// Questions of JupyterLab's cells to their kernel, over one comm for each kernel; what ptxlab/lab/cell_questions.py answers.

const PATIENCE = 8000; // milliseconds for an answer: the first may come while a cell runs, or while the table is being read
const AGAIN = 3000; // milliseconds after which a kernel that did not know us is asked once more
const TARGET = "ptxlab.cells";

const open = new Map(); // of each kernel's id: { comm, asked, refused }

function connection(kernel) {
  const old = open.get(kernel.id);
  if (old?.comm && !old.comm.isDisposed && !old.refused) return old;
  if (old?.refused && performance.now() - old.refused < AGAIN) return null;
  const made = { comm: kernel.createComm(TARGET), asked: new Map(), refused: 0 };
  made.comm.onMsg = ({ content }) => {
    made.asked.get(content.data.id)?.(content.data.value);
    made.asked.delete(content.data.id);
  };
  made.comm.onClose = () => {
    made.refused = performance.now();
  }; // ptxlab is not loaded in this kernel
  made.comm.open();
  open.set(kernel.id, made);
  return made;
}

let last = 0;

/** The kernel's answer; null where it has none, is busy, or does not know ptxlab. */
export function ask(kernel, kind, content) {
  const to = kernel && kernel.handleComms && connection(kernel);
  if (!to) return Promise.resolve(null);
  return new Promise((resolve) => {
    const id = ++last;
    to.asked.set(id, resolve);
    to.comm.send({ kind, id, ...content });
    setTimeout(() => {
      to.asked.delete(id);
      resolve(null);
    }, PATIENCE);
  });
}
