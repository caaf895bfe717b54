"""List a prefix of a bucket and get every object with reportgen; print the cost as JSON."""

from __future__ import annotations

import json
import os
import sys


def content_of(item: object) -> bytes:
    """Return what was read; end the run where it could not be."""
    if isinstance(item, bytes):
        return item
    raise SystemExit(str(item))


def main() -> None:
    # What either side imports is there before its clock starts: boto3 there, these here.
    import botocore.session  # noqa: F401
    import obstore.store  # noqa: F401

    import reportgen.storage.s3  # noqa: F401
    from reportgen.storage import open_location

    began = os.times()
    infos = open_location(sys.argv[1]).list()
    place = open_location(sys.argv[1], listed={info.key: info for info in infos})
    sizes = [len(content_of(item)) for item in place.read_many([info.key for info in infos])]
    ended = os.times()
    print(
        json.dumps(
            {
                "cpu_seconds": ended.user + ended.system - began.user - began.system,
                "seconds": ended.elapsed - began.elapsed,
                "objects": len(sizes),
                "bytes": sum(sizes),
            }
        )
    )


if __name__ == "__main__":
    main()
