"""Where bytes live: one protocol, one module per kind of place, chosen by the path's scheme."""

from reportgen.storage.local import LocalLocation, at_home
from reportgen.storage.location import Location, ObjectInfo, read_blocks
from reportgen.storage.opening import is_remote, open_location
from reportgen.storage.s3_settings import reached_as, settings_to_send
from reportgen.storage.sagemaker import DescribedJob, is_job_name, training_job, training_jobs

__all__ = [
    "DescribedJob", "LocalLocation", "Location", "ObjectInfo", "at_home", "is_job_name",
    "is_remote", "open_location", "reached_as", "read_blocks", "settings_to_send", "training_job",
    "training_jobs",
]  # fmt: skip
