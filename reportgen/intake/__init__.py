"""A job on disk to a job in memory: ``discover`` finds its parts, ``read`` reads one."""

from reportgen.formats.format import Progress
from reportgen.intake.aws_folder import AwsFolder, read_aws_folder
from reportgen.intake.discover import discover
from reportgen.intake.listing import Listing, list_files
from reportgen.intake.profiler_settings import settings_of, with_settings
from reportgen.intake.read import read, read_events, read_node
from reportgen.intake.samples import SampleTable, read_samples
from reportgen.intake.time_range import cut_job

__all__ = [
    "AwsFolder", "Listing", "Progress", "SampleTable", "cut_job", "discover", "list_files", "read",
    "read_aws_folder", "read_events", "read_node", "read_samples", "settings_of", "with_settings",
]  # fmt: skip
