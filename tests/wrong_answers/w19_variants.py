"""Wrong answers to the exercises of notebook 19."""

from __future__ import annotations

from ptxlab.course.exercises.e19_variants import ALIBI, DOCUMENTS, SINKS, SOFTCAP, WINDOW

_CAP = "        scores = cap * np.tanh(scores / cap)\n"

WRONG = {
    "19-window":
        ((WINDOW.starter, "are enough"),
         (WINDOW.solution.replace("< span", "<= span"), "33 keys"),
         (WINDOW.solution.replace("(distance >= 0) & ", ""), "the keys after its own"),
         (WINDOW.solution.replace(">= 0", "> 0"), "does not see its own key"),
         (WINDOW.solution.replace("& (distance", "and (distance"), "(distance >= 0) & (distance < span)")),
    "19-alibi":
        ((ALIBI.starter, "Nothing is added"),
         (ALIBI.solution.replace("kv_idx - q_idx", "q_idx - kv_idx"), "other sign"),
         (ALIBI.solution.replace("slopes[h]", "slopes[b]"), "sequence's number"),
         (ALIBI.solution.replace("(kv_idx - q_idx)", "kv_idx"), "seen by the LSE alone"),
         (ALIBI.solution.replace("slopes[h]", "slopes"), "slopes[h]")),
    "19-softcap":
        ((SOFTCAP.starter, "Which scores is the maximum taken of?"),
         (SOFTCAP.solution.replace(_CAP, ""), "not capped"),
         (SOFTCAP.solution.replace("cap * np", "np"), "between -1 and 1"),
         (SOFTCAP.solution.replace("np.tanh(scores / cap)", "np.clip(scores / cap, -1, 1)"), "bends all of them"),
         (SOFTCAP.solution.replace(_CAP, "").replace("np.exp(scores - new)", "np.exp(cap * np.tanh((scores - new) / cap))"),
          "the distance from the maximum")),
    "19-sinks":
        ((SINKS.starter, "Every part counts the sink"),
         (SINKS.solution.replace("sink, np.float32(1)", "sink, np.float32(0)"), "in no part's sum"),
         (SINKS.solution.replace("max(m, s.max())", "s.max()"), "is the sink in the maximum?")),
    "19-documents":
        ((DOCUMENTS.starter, "the documents before its own"),
         (DOCUMENTS.solution.replace(" & (kv_idx <= q_idx)", ""), "the keys after its own"),
         (DOCUMENTS.solution.replace("(own | (kv_idx < shared))", "own"), "documents after the first"),
         (DOCUMENTS.solution.replace("own |", "own &"), "row's own document"),
         (DOCUMENTS.solution.replace("< shared", "<= shared"), "9 keys are shared"),
         (DOCUMENTS.solution.replace("own |", "own or"), "(own) | (kv_idx < shared)")),
}  # fmt: skip
