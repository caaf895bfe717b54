"""Charts as small plain pictures, for readers without scripts."""

from reportgen.views.sketch.picture import WIDTH_PX, Sketch, sketch_of

__all__ = ["WIDTH_PX", "Sketch", "sketch_of"]
