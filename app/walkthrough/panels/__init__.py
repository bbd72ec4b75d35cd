"""Dialogs as frozen values: each paints itself on a canvas and answers a key with what comes next."""

from gpu_explain.app.walkthrough.panels.base import Answer, Close, Do, Go, Panel

__all__ = ["Answer", "Close", "Do", "Go", "Panel"]
