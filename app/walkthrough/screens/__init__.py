"""The terminal library's side of the walkthrough: one widget that shows canvases, and the screens."""
