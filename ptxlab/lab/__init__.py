"""The notebook: explorer, debugger, editor, magics, diff, figures, and how objects look."""
