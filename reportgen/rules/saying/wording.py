"""Names from before ``reportgen.text``."""

from reportgen import text

label, ordinal = text.device_label, text.ordinal
say_place, say_places, say_some = text.format_place, text.format_places, text.join_names
say_of, say_times, say_does = text.part_of, text.plural, text.verb
